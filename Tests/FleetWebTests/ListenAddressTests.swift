import Fleet
import FleetWeb
import Testing

struct ListenAddressTests {
  @Test(arguments: [
    ("127.0.0.1:8080", "127.0.0.1", 8080, true), ("[::1]:80", "::1", 80, true),
    ("localhost:0", "localhost", 0, true), ("0.0.0.0:8443", "0.0.0.0", 8443, false),
    ("fleet.example:443", "fleet.example", 443, false),
  ]) func addressesAreParsed(_ text: String, _ host: String, _ port: Int, _ isLoopback: Bool) throws {
    let address = try ListenAddress(parsing: text)
    #expect(address.host == host && address.port == port && address.isLoopback == isLoopback)
  }

  @Test(arguments: ["", "8080", ":8080", "host", "host:", "host:x", "host:65536", "host:-1", "a/b:80"])
  func invalidAddressesAreRefused(_ text: String) {
    #expect(throws: FleetError.self) { try ListenAddress(parsing: text) }
  }
}
