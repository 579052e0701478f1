import Foundation
import Glibc

func readFile(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

/// Replaces the file by a new one (another inode).
func writeFile(_ path: String, _ bytes: [UInt8]) throws {
  unlink(path)
  try Data(bytes).write(to: URL(fileURLWithPath: path))
}

/// Overwrites a file in place (same inode).
func overwrite(_ path: String, _ bytes: [UInt8]) throws {
  let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
  try handle.write(contentsOf: Data(bytes))
  try handle.close()
}

func size(_ path: String) throws -> Int { try readFile(path).count }
