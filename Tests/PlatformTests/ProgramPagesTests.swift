import Testing

@testable import Platform

@Suite struct ProgramPagesTests {
  @Test func onlyReadOnlyCodeIsReleased() {
    let maps = """
      55d0c8e00000-55d0c8e10000 r--p 00000000 fe:01 131 /usr/bin/odographd
      55d0c8e10000-55d0c9c00000 r-xp 00010000 fe:01 131 /usr/bin/odographd
      55d0c9c00000-55d0c9d00000 r--p 00e00000 fe:01 131 /usr/bin/odographd
      55d0c9d00000-55d0c9e00000 rw-p 00f00000 fe:01 131 /usr/bin/odographd
      7f0000000000-7f0000001000 rwxp 00000000 00:00 0
      7f0000010000-7f0000020000 r-xp 00000000 fe:01 132 /usr/lib/a name with spaces.so (deleted)
      7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]
      damaged
      """
    #expect(
      ProgramPages.executable(in: maps) == [
        0x55d0_c8e1_0000..<0x55d0_c9c0_0000, 0x7f00_0001_0000..<0x7f00_0002_0000,
      ])
  }

  /// Released code is mapped again when it runs.
  @Test func theProgramContinues() {
    ProgramPages.release()
    #expect((1...1000).map { "\($0)" }.joined().utf8.count == 2893)
  }
}
