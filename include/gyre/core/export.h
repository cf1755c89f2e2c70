// GYRE_EXPORT: stands before what libgyre.so shows to programs that are linked with it. All else in
// the library is hidden (-fvisibility=hidden): layers of src/ are no interface.
//
// Classes whose members are all in their header, and templates, need none.
#pragma once

#define GYRE_EXPORT [[gnu::visibility("default")]]
