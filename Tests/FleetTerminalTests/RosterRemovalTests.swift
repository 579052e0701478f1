import Fleet
import FleetFixtures
import TestSupport
import Testing

/// Removed vehicles: their retained messages were deleted.
struct RosterRemovalTests {
  @Test func aVehicleIsRemovedWithItsStatusAndLocation() {
    var roster = Roster()
    for vehicle in ["a", "van", "z"] {
      roster.receive("status", statusJSON("offline", at: 0), at: 0, vehicle: vehicle)
      roster.receive("location", locationJSON(48, at: 1), at: 1, vehicle: vehicle)
    }
    #expect(roster.receive("status", "", at: 2) == .ignored && roster.van != nil)
    // Deletion of other messages has no effect.
    #expect(roster.receive("heading", "", at: 2) == .ignored)
    #expect(roster.receive("location", "", at: 3) == .removed && roster.van == nil)
    #expect(roster.vehicles.map(\.key.vehicle) == ["a", "z"] && roster.removals == 1)
    #expect(roster.receive("location", "", at: 3) == .ignored && roster.removals == 1)
    // A late message adds the vehicle again.
    #expect(roster.receive("location", locationJSON(49, at: 4), at: 4) == .applied)
    #expect(roster.vehicles.map(\.key.vehicle) == ["a", "z", "van"] && roster.van?.status == nil)
  }

  /// A vehicle that publishes its status between the two deletions stays.
  @Test func aVehicleThatReportsAgainStays() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", locationJSON(48, at: 1), at: 1)
    roster.receive("status", "", at: 2)
    roster.receive("status", statusJSON("online", at: 3), at: 3)
    #expect(roster.receive("location", "", at: 4) == .applied && roster.van != nil)
    roster.receive("location", locationJSON(48, at: 5), at: 5)
    #expect(roster.receive("status", "", at: 6) == .ignored && roster.van != nil)
  }

  /// `odographd check` publishes an empty status, which the broker does not retain.
  @Test func aVehicleWithoutAPositionIsRemovedUnlessItIsOnline() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    #expect(roster.receive("status", "", at: 1) == .ignored && roster.van != nil)
    roster.receive("status", statusJSON("offline", at: 2), at: 2)
    #expect(roster.receive("status", "", at: 3) == .removed && roster.van == nil)
  }

  /// An agent with changed privacy settings deletes its retained position.
  @Test func aDeletedLocationLeavesAVehicleWithoutAPosition() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", locationJSON(48, at: 1), at: 1)
    let before = roster.revision
    #expect(roster.receive("location", "", at: 2) == .applied)
    #expect(roster.van?.location == nil && roster.van?.shownPosition(at: moment(2)) == nil)
    #expect(roster.revision > before && roster.van?.revision == roster.revision)
    // The broker of a cluster can deliver the deletion twice.
    #expect(roster.receive("location", "", at: 2) == .ignored)
    // A later `odographd check` does not remove it, but `odograph forget` does.
    #expect(roster.receive("status", "", at: 60) == .ignored && roster.van != nil)
    #expect(roster.receive("location", locationJSON(48.01, at: 61), at: 61) == .applied)
    #expect(roster.van?.location != nil)
    roster.receive("status", statusJSON("offline", at: 62), at: 62)
    #expect(roster.receive("location", "", at: 80) == .applied && roster.van != nil)
    #expect(roster.receive("status", "", at: 81) == .removed)
  }

  /// The agent was checked before it starts with changed settings.
  @Test func aCheckLongBeforeADeletedLocationRemovesNoVehicle() {
    var roster = Roster()
    roster.receive("location", locationJSON(48, at: 0), at: 0)
    roster.receive("status", statusJSON("offline", at: 1), at: 1)
    #expect(roster.receive("status", "", at: 2) == .ignored)
    #expect(roster.receive("location", "", at: 30) == .applied && roster.van?.location == nil)
    #expect(roster.receive("status", statusJSON("online", at: 31), at: 31) == .applied)
  }

  @Test func anOnlineOwnTracksDeviceStaysWithoutItsPosition() {
    var roster = Roster(profile: .ownTracks)
    func report(_ text: String, at seconds: Double, retained: Bool = false) -> Roster.Outcome {
      roster.apply(
        topic: "owntracks/ann/phone", payload: Array(text.utf8), retained: retained, at: moment(seconds))
    }
    let position = #"{"_type":"location","lat":48.1,"lon":11.5,"tst":1763726400}"#
    #expect(report(position, at: 0) == .applied)
    #expect(report("", at: 1) == .applied && roster.vehicles.first?.location == nil)
    #expect(report(#"{"_type":"lwt","tst":1763726400}"#, at: 2) == .applied)
    #expect(report("", at: 3) == .removed && roster.vehicles.isEmpty)
  }

  @Test func anOwnTracksDeviceHasOneTopic() {
    var roster = Roster(profile: .ownTracks)
    func report(_ text: String, at seconds: Double) -> Roster.Outcome {
      roster.apply(
        topic: "owntracks/ann/phone", payload: Array(text.utf8), retained: true, at: moment(seconds))
    }
    #expect(report(#"{"_type":"location","lat":48.1,"lon":11.5,"tst":1763726400}"#, at: 0) == .applied)
    #expect(report("", at: 1) == .removed && roster.vehicles.isEmpty)
  }

  /// Compares the roster with a dictionary, for random messages in random order.
  @Test func agreesWithAModel() {
    struct Known: Equatable {
      var isOnline: Bool?
      var hasLocation = false
      var statusDeletion: Double?
      var locationDeletion: Double?

      /// Whether both were deleted within 10 s.
      var isDeleted: Bool {
        guard let statusDeletion, let locationDeletion else { return false }
        return abs(statusDeletion - locationDeletion) <= 10
      }
    }
    var random = SplitMix.announced()
    var roster = Roster(capacity: 20)
    var model: [String: Known] = [:]
    // Vehicles in order of their creation, of which those without a status and position can be replaced.
    var replaceable: [String] = []
    for turn in 0..<8000 {
      let name = "v\(Int.random(in: 0..<25, using: &random))"
      let time = Double(turn)
      let isDeletion = Bool.random(using: &random)
      let isStatus = Bool.random(using: &random)
      if isDeletion {
        let outcome = roster.receive(isStatus ? "status" : "location", "", at: time, vehicle: name)
        guard var known = model[name] else {
          #expect(outcome == .ignored)
          continue
        }
        let hadLocation = known.hasLocation
        if isStatus {
          known.statusDeletion = time
        } else {
          (known.locationDeletion, known.hasLocation) = (time, false)
        }
        let goes = known.isDeleted || isStatus && !hadLocation && known.isOnline != true
        model[name] = goes ? nil : known
        #expect(outcome == (goes ? .removed : !isStatus && hadLocation ? .applied : .ignored), "\(known)")
      } else {
        let isOnline = Bool.random(using: &random)
        let outcome =
          isStatus
          ? roster.receive(
            "status", statusJSON(isOnline ? "online" : "offline", at: time), at: time, vehicle: name)
          : roster.receive("location", locationJSON(48, at: time), at: time, vehicle: name)
        while model[name] == nil, model.count == 20, !replaceable.isEmpty {
          let oldest = replaceable.removeFirst()
          if let known = model[oldest], known.isOnline == nil, !known.hasLocation { model[oldest] = nil }
        }
        guard model[name] != nil || model.count < 20 else {
          #expect(outcome == .refused)
          continue
        }
        if model[name] == nil { replaceable.append(name) }
        #expect(outcome == .applied)
        var known = model[name] ?? Known()
        if isStatus {
          (known.isOnline, known.statusDeletion) = (isOnline, nil)
        } else {
          (known.hasLocation, known.locationDeletion) = (true, nil)
        }
        model[name] = known
      }
    }
    #expect(Set(roster.vehicles.map(\.key.vehicle)) == Set(model.keys) && roster.removals > 300)
    for (name, known) in model {
      let record = roster[VehicleKey(fleet: "demo", vehicle: name)]
      #expect(record?.key.vehicle == name && (record?.location != nil) == known.hasLocation)
    }
  }
}
