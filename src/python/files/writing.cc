// Writing files from Python: by the core's one way of doing so (tensor/io/output_file.h), with
// OSErrors as Python's own functions raise them.
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "bundle/masked_crc.h"
#include "python/python.h"
#include "session/model_files.h"
#include "tensor/io/file.h"
#include "tensor/io/output_file.h"
#include "tensor/io/output_folder.h"

namespace gyre::python {
namespace {

// Throws an OSError, of the class that its errno says.
void CheckFile(const absl::Status& status) {
  if (status.ok()) return;
  int error = SystemErrorOf(status);
  if (error == 0) error = EIO;
  const nb::object raised = nb::borrow(PyExc_OSError)(error, ToStr(status.message()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

std::string PathOf(nb::handle bytes) {
  char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &text, &size) != 0) throw nb::python_error();
  const std::string path(text, static_cast<size_t>(size));
  if (path.find('\0') != std::string::npos) ThrowValueError("a path has a zero byte in it");
  return path;
}

// The bytes of what shows a contiguous buffer, which is held as long as the object.
class Piece {
 public:
  explicit Piece(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() { PyBuffer_Release(&view_); }

  absl::string_view bytes() const {
    return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

void WritePieces(nb::handle path, nb::handle pieces) {
  const std::string where = PathOf(path);
  std::vector<std::unique_ptr<Piece>> held;
  std::vector<absl::string_view> bytes;
  for (const nb::handle piece : nb::iter(pieces)) {
    held.push_back(std::make_unique<Piece>(piece));
    bytes.push_back(held.back()->bytes());
  }
  absl::Status status;
  {
    const nb::gil_scoped_release release;
    status = WriteFile(where, bytes);
  }
  CheckFile(status);
}

uint32_t MaskedChecksum(nb::handle data) { return MaskedCrc(Piece(data).bytes()); }

void MakeFolders(nb::handle path) {
  const std::string where = PathOf(path);
  CheckFile(MakeFolder(where));
}

// A SavedModel's folder while it is written.
struct PyModelFolder {
  std::shared_ptr<OutputFolder> folder;  // shared since nanobind copies; null at the end
};

PyModelFolder NewModelFolder(nb::handle path) {
  const std::string where = PathOf(path);
  absl::StatusOr<OutputFolder> folder = [&] {
    const nb::gil_scoped_release release;
    return MakeModelFolder(where);
  }();
  CheckFile(folder.status());
  return {std::make_shared<OutputFolder>(*std::move(folder))};
}

nb::object Unfinished(const PyModelFolder& self) {
  const std::string& path = self.folder->unfinished();
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

void Commit(const PyModelFolder& self) {
  absl::Status status;
  {
    const nb::gil_scoped_release release;
    status = self.folder->Commit();
  }
  CheckFile(status);
}

void Discard(PyModelFolder& self) { self.folder = nullptr; }

}  // namespace

void BindFiles(nb::module_& m) {
  m.def("write_file", &WritePieces, nb::arg("path"), nb::arg("pieces"));
  m.def("make_folder", &MakeFolders, nb::arg("path"));
  m.def("masked_crc32c", &MaskedChecksum, nb::arg("data"));
  nb::class_<PyModelFolder>(m, "ModelFolder", nb::is_final(),
                            "The folder of a SavedModel while it is written.")
      .def("unfinished", &Unfinished)
      .def("commit", &Commit)
      .def("discard", &Discard);
  m.def("new_model_folder", &NewModelFolder, nb::arg("path"));
}

}  // namespace gyre::python
