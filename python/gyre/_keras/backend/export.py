"""Models as SavedModels, written by Gyre."""


class ExportArchive:
    pass
