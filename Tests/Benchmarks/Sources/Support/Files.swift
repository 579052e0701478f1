internal import Glibc

/// Creates an empty temporary folder.
package func temporaryDirectory() -> String {
  var template = Array("/tmp/odograph-benchmark-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else {
    complain("cannot make a temporary directory")
    exit(1)
  }
  return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

package func remove(_ directory: String) {
  _ = Child(["rm", "-rf", directory]).wait(atMost: 60)
}

package func contents(of path: String) -> String {
  guard let file = fopen(path, "r") else { return "" }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var portion = [UInt8](repeating: 0, count: 65_536)
  while case let count = fread(&portion, 1, portion.count, file), count > 0 { bytes += portion[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}

package func write(_ text: String, to path: String) {
  guard let file = fopen(path, "w") else { return complain("cannot write \(path)") }
  fputs(text, file)
  fclose(file)
}
