import Platform
import Testing

@Suite struct BuildInformationTests {
  @Test(arguments: [
    (BuildInformation(version: "1.2.3"), "1.2.3 (development version)"),
    (BuildInformation(version: "1.2.3", commit: "5169b0e"), "1.2.3 (commit 5169b0e)"),
    (
      BuildInformation(version: "1.2.3", commit: "5169b0e", date: "2026-11-21"),
      "1.2.3 (commit 5169b0e, built 2026-11-21)"
    ),
  ])
  func availableFieldsArePrinted(build: BuildInformation, text: String) {
    #expect(build.description == text)
  }

  @Test func theProgramHasAVersion() {
    let numbers = BuildInformation.current.version.split(separator: ".", omittingEmptySubsequences: false)
    #expect(numbers.count == 3)
    #expect(numbers.allSatisfy { Int($0) != nil }, "\(BuildInformation.current.version)")
  }
}
