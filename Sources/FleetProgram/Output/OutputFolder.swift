package import Fleet
internal import Glibc
internal import Platform

/// An output folder with files in subfolders, such as partitions. It appears only when it is complete.
///
/// All files are written to a temporary folder with the same parent. At the end the temporary folder gets the
/// requested name, and the mode of an existing folder with this name. The existing folder is exchanged
/// atomically and then removed. Links are followed.
///
/// Alternatively an existing folder is updated: each written partition is replaced separately, and all other
/// partitions are unchanged.
@safe package struct OutputFolder: ~Copyable {
  private let plan: Plan
  private var isFinished = false

  /// The plan for the final step.
  private struct Plan {
    /// The given path.
    var path: String
    /// The temporary folder and its final name.
    var draft: String
    var target: String
    /// The status of an existing folder; nil if there is none.
    var found: FileState?
    /// The existing files that are replaced: folder and name.
    var replaced: [(folder: String, name: String)]
    /// True if partitions of an existing folder are updated.
    var isUpdate = false
    /// The lock of the temporary folder, which the kernel releases when the process exits.
    var lock: Int32
    let isOurs: (String) -> Bool
  }

  /// The created folders in order.
  private var partitions: [String] = []

  /// Creates the temporary folder.
  ///
  /// - Parameters:
  ///   - path: the folder; an empty one may exist.
  ///   - replaces: true if a folder with files may be replaced.
  ///   - updates: true to replace partitions in an existing folder.
  ///   - inputs: input files of the command, which are never replaced.
  ///   - isOurs: returns whether "folder/name" is a file of this kind of output. Other files are never
  ///     removed.
  /// - Throws: `FleetError` for an output that cannot or must not be written.
  package init(
    path: String, replaces: Bool, updates: Bool = false, inputs: [String],
    isOurs: @escaping (String) -> Bool
  ) throws(FleetError) {
    plan = try Self.begin(path, replaces, updates, inputs, isOurs)
  }

  /// Checks the output and creates the temporary folder.
  private static func begin(
    _ path: String, _ replaces: Bool, _ updates: Bool, _ inputs: [String],
    _ isOurs: @escaping (String) -> Bool
  ) throws(FleetError) -> Plan {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let target = try OutputFile.target(of: String(trimmed))
    guard let name = target.split(separator: "/").last, name != ".", name != ".." else {
      throw .usage("write", path, "it is not a name for a new folder; name a folder")
    }
    let found = FileState(target)
    var replaced: [(folder: String, name: String)] = []
    if found != nil {
      if updates {
        try checkFolder(target, path)
      } else {
        replaced = try files(of: target, path, inputs, isOurs)
        guard replaced.isEmpty || replaces else {
          throw .usage("write", path, "already exists; --force replaces it")
        }
      }
    }
    let above = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    let stem = ".\(name.utf8.count > 200 ? "odograph" : name)."
    removeAbandoned(in: above, stem)
    let draft = "\(above)\(stem)\(getpid()).part"
    guard unsafe mkdir(draft, 0o777) == 0 else {
      throw FleetError(
        operation: "create", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder that it is in and its permissions",
        kind: .outputFailed)
    }
    return Plan(
      path: path, draft: draft, target: target, found: found, replaced: replaced,
      isUpdate: updates && found != nil, lock: lockFolder(draft) ?? -1, isOurs: isOurs)
  }

  /// Locks a folder; nil if another process has locked it.
  private static func lockFolder(_ folder: String) -> Int32? {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Removes the temporary folders of killed commands. Such a folder contains the number of a process that
  /// does not exist, and is not locked.
  private static func removeAbandoned(in above: String, _ stem: String) {
    for name in (try? names(in: above.isEmpty ? "." : above)) ?? [] {
      guard name.hasPrefix(stem), name.hasSuffix(".part"),
        let process = pid_t(name.dropFirst(stem.count).dropLast(".part".count)), process > 0,
        kill(process, 0) != 0, errno == ESRCH, let lock = lockFolder(above + name)
      else { continue }
      removeTree(above + name)
      close(lock)
    }
  }

  deinit {
    if plan.lock >= 0 { close(plan.lock) }
    if !isFinished { Self.removeTree(plan.draft) }
  }

  /// Creates a subfolder of the temporary folder if it is missing, and returns the path for a file in the
  /// subfolder.
  package mutating func file(_ name: String, in folder: String) throws(FleetError) -> String {
    try Self.makeFolders(folder, in: plan.draft)
    if partitions.last != folder { partitions.append(folder) }
    return "\(plan.draft)/\(folder)/\(name)"
  }

  private static func makeFolders(_ folder: String, in root: String) throws(FleetError) {
    var place = root
    for part in folder.split(separator: "/") {
      place += "/" + part
      guard unsafe mkdir(place, 0o777) == 0 || errno == EEXIST else {
        throw OutputFile.failure("create", place, errno)
      }
    }
  }

  /// Renames the temporary folder to its final name.
  package mutating func finish() throws(FleetError) {
    if plan.isUpdate { return try finishUpdate() }
    let (path, draft, replaced) = (plan.path, plan.draft, plan.replaced)
    if let found = plan.found, unsafe chmod(draft, found.mode) != 0 {
      throw OutputFile.failure("write", path, errno)
    }
    do throws(SystemError) {
      if replaced.isEmpty {
        // An empty folder is replaced.
        try AtomicFile.move(draft, to: plan.target)
      } else {
        try AtomicFile.exchange(draft, with: plan.target)
      }
    } catch {
      let cause =
        error.code == EINVAL && !replaced.isEmpty
        ? "its file system cannot exchange folders; remove it first, or name another"
        : SystemError.message(for: error.code)
      throw FleetError(operation: "write", object: path, cause: cause, kind: .outputFailed)
    }
    isFinished = true
    guard !replaced.isEmpty else { return }
    for file in replaced { unsafe unlink("\(draft)/\(file.folder)/\(file.name)") }
    Self.removeFolders(of: replaced.map(\.folder), in: draft)
    guard unsafe rmdir(draft) == 0 else {
      throw FleetError(
        operation: "remove", object: draft,
        cause:
          "\(SystemError.message(for: errno)); \(path) is complete; this folder contains the replaced files",
        kind: .outputFailed)
    }
  }

  /// Moves each written partition to the existing folder, after checking that all of them can be replaced.
  private mutating func finishUpdate() throws(FleetError) {
    var replaced: [[(folder: String, name: String)]] = []
    for partition in partitions {
      let place = "\(plan.target)/\(partition)"
      guard FileState(link: place) != nil else {
        replaced.append([])
        continue
      }
      replaced.append(try Self.files(of: plan.target, within: partition, plan.path, [], plan.isOurs))
    }
    for (partition, files) in zip(partitions, replaced) {
      let (draft, place) = ("\(plan.draft)/\(partition)", "\(plan.target)/\(partition)")
      if files.isEmpty, let end = partition.lastIndex(of: "/") {
        try Self.makeFolders(String(partition[..<end]), in: plan.target)
      }
      do throws(SystemError) {
        if files.isEmpty {
          try AtomicFile.move(draft, to: place)
        } else {
          try AtomicFile.exchange(draft, with: place)
        }
      } catch { throw OutputFile.failure("write", place, error.code) }
      for file in files { unsafe unlink("\(plan.draft)/\(file.folder)/\(file.name)") }
    }
    isFinished = true
    Self.removeFolders(of: partitions, in: plan.draft)
    unsafe rmdir(plan.draft)
  }

  /// Removes folders and their parents if they are empty.
  private static func removeFolders(of folders: [String], in root: String) {
    var all: Set<String> = []
    for folder in folders {
      var parts = folder.split(separator: "/")
      while !parts.isEmpty {
        all.insert(parts.joined(separator: "/"))
        parts.removeLast()
      }
    }
    for folder in all.sorted(by: { $0.count > $1.count }) { unsafe rmdir("\(root)/\(folder)") }
  }

  private static func checkFolder(_ folder: String, _ path: String) throws(FleetError) {
    guard FileState(folder)?.isFolder == true else {
      throw .usage("write", path, "not a folder; the output is a folder: name another")
    }
  }

  /// Returns the files that will be replaced in a folder, at any depth, with the subfolder of each.
  /// - Parameter part: the subfolder to check; nil for the whole folder.
  /// - Throws: `FleetError` if the folder contains a file that is not of this kind of output.
  private static func files(
    of folder: String, within part: String? = nil, _ path: String, _ inputs: [String],
    _ isOurs: (String) -> Bool
  ) throws(FleetError) -> [(folder: String, name: String)] {
    let place = part.map { "\(folder)/\($0)" } ?? folder
    if part == nil { try checkFolder(folder, path) }
    func stranger() -> FleetError {
      .usage("write", path, "it contains \(part ?? ""), which is not part of an export; name another folder")
    }
    // A link leads to another folder, in which no file may be removed.
    guard part == nil || FileState(link: place)?.isFolder == true else { throw stranger() }
    var files: [(folder: String, name: String)] = []
    for name in try names(in: place) {
      let inner = part.map { "\($0)/\(name)" } ?? name
      if part == nil || FileState(link: "\(folder)/\(inner)")?.isFolder == true {
        files += try Self.files(of: folder, within: inner, path, inputs, isOurs)
        continue
      }
      guard let part, isOurs(inner) else { throw stranger() }
      let file = FileState("\(folder)/\(inner)")
      guard file?.isFolder == false,
        !inputs.contains(where: { FileState($0).map { file?.isSameFile(as: $0) == true } == true })
      else {
        throw .usage(
          "write", path, "\(inner) is a folder, or a file that the command reads; name another folder")
      }
      files.append((part, name))
    }
    // An export creates no empty folders.
    guard part == nil || !files.isEmpty else { throw stranger() }
    return files
  }

  private static func names(in folder: String) throws(FleetError) -> [String] {
    guard let directory = unsafe opendir(folder) else { throw OutputFile.failure("read", folder, errno) }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Removes a temporary folder without following links.
  private static func removeTree(_ folder: String) {
    for name in (try? names(in: folder)) ?? [] {
      let place = "\(folder)/\(name)"
      if FileState(link: place)?.isFolder == true { removeTree(place) } else { unsafe unlink(place) }
    }
    unsafe rmdir(folder)
  }
}
