import Fleet
import FleetProgram
import TestSupport
import Testing

/// Messages about files that cannot be read name the cause.
@Suite struct InputFileTests {
  private func cause(_ path: String, limit: Int = 64 << 20) -> String? {
    do throws(FleetError) {
      _ = try InputFile.read(path, limit: limit)
      return nil
    } catch { return error.description }
  }

  @Test func theCauseIsNamed() throws {
    let folder = try TemporaryDirectory()
    try folder.write("large", String(repeating: "x", count: (1 << 20) + 1))
    #expect(cause(folder.file("none")) == "cannot read \(folder.file("none")): no such file")
    #expect(cause(folder.path) == "cannot read \(folder.path): is a folder; name a file")
    #expect(
      cause(folder.file("large"), limit: 1 << 20) == "cannot read \(folder.file("large")): larger than 1 MB")
    #expect(cause(folder.file("large")) == nil)
    #expect(cause("/proc/self/mem/x")?.hasSuffix("Not a directory") == true)
    #expect(FileFailure.causeOfFailure(toOpen: folder.file("none")) == "no such file")
    #expect(FileFailure.causeOfFailure(toOpen: folder.path) == "is a folder; name a file")
    #expect(FileFailure.causeOfFailure(toOpen: folder.file("large")) == nil)
    #expect(FileFailure.causeOfFailure(toCreate: folder.file("large")) == nil)
    #expect(FileFailure.causeOfFailure(toCreate: folder.file("new")) == nil)
    #expect(
      FileFailure.causeOfFailure(toCreate: folder.file("a/new")) == "no such folder: \(folder.file("a"))/")
    #expect(FileFailure.causeOfFailure(toCreate: folder.path) == "is a folder; name a file")
  }

  @Test func aConfigurationStatesTheCauseOnce() throws {
    let error = #expect(throws: FleetError.self) { try SettingsFile(path: "/nowhere/serve.toml") }
    #expect(error?.description == "cannot read /nowhere/serve.toml: No such file or directory")
  }
}
