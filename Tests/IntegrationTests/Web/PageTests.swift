import CFleetPage
import Foundation
import TestSupport
import Testing

/// The page of `odograph serve` in a real browser, with a real server, broker and simulated vehicles.
@Suite(.serialized, .timeLimit(.minutes(25))) struct PageTests {
  /// Runs `Tests/WebTests/page_tests.py`: by default with 50 vehicles and with one; with ODOGRAPH_FULL in all sizes and colours, and with
  /// 10,000 vehicles. Pictures are stored in `Tests/WebTests/pictures`.
  @Test(.needs(.chromium)) func useCasesWorkInABrowser() throws {
    let folder = "\(ContractScript.repository)/Tests/WebTests/pictures"
    let run = try PythonEnvironment.web.run(
      "WebTests/page_tests.py", [folder, "--program", BuiltProduct.path("odograph")])
    let failures = run.output.split(separator: "\n").filter { !$0.hasPrefix("ok ") }
    #expect(run.status == 0, "\(failures.joined(separator: "\n").suffix(6000))")
  }

  /// Fails if `Deploy/page-files.sh` was not run after files were added or removed.
  @Test func programContainsAllFilesOfThePage() throws {
    let folder = "\(ContractScript.repository)/Sources/CFleetPage/page"
    let table = unsafe UnsafeBufferPointer(start: fleet_page_table(), count: fleet_page_file_count)
    var served: [String: Int] = [:]
    for index in table.indices {
      let file = unsafe table[index]
      unsafe served[String(cString: file.path)] = file.length
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(served.keys.sorted() == names.sorted())
    for name in names {
      #expect(FileManager.default.contents(atPath: "\(folder)/\(name)")?.count == served[name], "\(name)")
    }
  }

  /// Without preloading, nested modules are loaded sequentially, with a round trip each.
  @Test func modulesArePreloaded() throws {
    let folder = "\(ContractScript.repository)/Sources/CFleetPage/page"
    let index = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
    let ahead = index.split(separator: "\n").filter { $0.contains("rel=\"modulepreload\"") }
      .compactMap { $0.split(separator: "\"").dropFirst(3).first.map(String.init) }
    var modules = Set(["app.js"])
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".js") {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for line in text.split(separator: "\n") where line.hasPrefix("import ") || line.hasPrefix("} from ") {
        // An import of several lines names its module in the last line.
        guard let target = line.split(separator: "\"").dropFirst().first else { continue }
        modules.insert(String(target.trimmingPrefix("./").trimmingPrefix("/")))
      }
    }
    #expect(modules.count > 40)
    #expect(ahead.sorted() == modules.subtracting(["app.js"]).sorted())
  }

  /// The page contains no code that could interpret a name as markup or violate the server's Content-Security-Policy.
  @Test func pageHasNoMarkupInjection() throws {
    let folder = "\(ContractScript.repository)/Sources/CFleetPage/page"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for word in [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
        " style=\"", "javascript:",
        " onclick=", "https://", "bindPopup",
        "bindTooltip",
      ] { #expect(!text.contains(word), "\(name) has \(word)") }
    }
  }
}
