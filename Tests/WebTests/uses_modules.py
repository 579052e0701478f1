"""The page's pure modules, imported in a tab: where a vehicle is shown and what that means, for values that no simulated fleet brings about in seconds."""
import csv
import io
import math
import xml.etree.ElementTree

# A vehicle at 0, 0 with a position that is `age` seconds old at `now`.
prelude = """
const now = Date.parse("2026-01-01T12:00:00Z"), at = (age) => new Date(now - age * 1000).toISOString();
const degree = 111319.49, east = (place) => place.longitude * degree;
const vehicle = (age, position = {}, more = {}) => ({fleet: "f", vehicle: "v", state: "online", ...more, position: {latitude: 0, longitude: 0, time: at(age), accuracy: 4, ...position}});
const promised = (age, prediction = {}, position = {}, more = {}) => vehicle(age, position, {
  prediction: {velocityEast: 10, velocityNorth: 0, bound: 15, delay: 5, validity: 30, growth: 2, ...prediction}, ...more});
const shown = (one) => { const told = reckoned(one, now); return [east(told), told.radius ?? null, told.ahead, told.bound ?? null, told.left ?? null]; };
"""

# An expression, and metres east, radius, extrapolated seconds, bound and remaining seconds.
reckonings = [
    ("shown(promised(20))", [150, 19, 15, 15, 15], "the predicted moment is the delay ago"),
    ("shown(promised(20, {delay: 0}))", [200, 19, 20, 15, 10], "without a delay, now"),
    ("shown(promised(2, {velocityEast: 0, before: [{time: at(32), latitude: 0, longitude: 0, accuracy: 90, velocityEast: 10, velocityNorth: 0, bound: 12, validity: 60, growth: 2}]}, {longitude: 1}))",
     [270, 102, 27, 12, 33], "a report applies once it is in effect: until then, the previous one applies, with its accuracy"),
    ("shown(promised(20, {}, {accuracy: undefined}))", [150, None, 15, 15, 15], "without an accuracy the radius is unknown"),
    ("shown(promised(2, {}, {accuracy: undefined}))", [0, None, 0, None, None], "also before the first report is in effect"),
    ("shown(vehicle(4, {speed: 10, course: 90, accuracy: undefined}))", [40, None, 4, None, None], "also if speed and course are extrapolated"),
    ("shown(promised(2))", [0, 4 + 15 + 30, 0, None, None], "before the first report is in effect, the radius includes all positions that can be reached"),
    ("shown(promised(20, {validity: 10}))", [150, 4 + 15 + 10, 15, 25, -5], "the bound of an expired prediction increases"),
    ("shown(promised(1005, {validity: undefined}))", [10_000, 19, 1000, 15, None], "without an end, a prediction is valid until the next report"),
    ("shown(promised(300, {validity: 10}))", [0, 4, 0, None, None], "an expired prediction is not used after a long time"),
    ("shown(promised(20, {}, {}, {state: 'offline'}))", [0, 4, 0, None, None], "an offline vehicle is not predicted"),
    ("shown(promised(45, {}, {stale: true}))", [400, 4 + 15 + 20, 40, 35, -10], "the bound of an old position increases, too"),
    ("shown(promised(100000, {}, {received: at(15)}))", [150, 19, 15, 15, 15], "the age of a report with another clock is that of its message"),
    ("shown(vehicle(4, {speed: 10, course: 90}))", [40, 4 + 20, 4, None, None], "speed and course are extrapolated"),
    ("shown(vehicle(11, {speed: 10, course: 90}))", [0, 4, 0, None, None], "for ten seconds"),
    ("shown(vehicle(4, {speed: 0.5, course: 90}))", [0, 4, 0, None, None], "not at rest"),
    ("shown(vehicle(4, {speed: 10}))", [0, 4, 0, None, None], "not without a course"),
    ("shown(vehicle(4, {speed: 55, course: 90, suspect: 'velocity'}))", [0, 4, 0, None, None], "not from a suspect position"),
    ("shown(promised(20, {velocityEast: 0, velocityNorth: 10}, {latitude: 89.91}))", [0, 4, 0, None, None], "no prediction beyond 89.9°"),
]

kinds = [
    ("{}", "fix"), ("{source: 'fused'}", "fused"), ("{source: 'inertial'}", "inertial"), ("{source: 'coarse'}", "coarse"), ("{source: 'fused', stale: true}", "stale"),
    # It moved at its last report, which is long ago.
    ("{speed: 9}", "stale"), ("{speed: 0.2}", "fix"),
    ("{source: 'fused', suspect: 'wheels'}", "suspect"), ("{suspect: 'jump', stale: true}", "stale"),
]


def close(found, wanted):
    return all((a is None and b is None) or (a is not None and b is not None and math.isclose(a, b, abs_tol=0.6)) for a, b in zip(found, wanted, strict=True))


def module(tab, imports, script):
    """Returns the value of a script with imports from the page's own modules."""
    names = " ".join(f"const {{{', '.join(each)}}} = await import('/{name}.js');" for name, each in imports.items())
    return tab.run(f"(async () => {{ {names} {prelude} {script} }})()")


def use_modules(page):
    """Predictions, extrapolation, kinds of positions, activities of a vehicle, and tracks across the 180th meridian."""
    tab = page.open("#/fleet")
    for question, wanted, why in reckonings:
        found = module(tab, {"reckoning": ["reckoned"]}, f"return {question};")
        assert close(found, wanted), f"{why}: {found}, not {wanted}"
    for position, wanted in kinds:
        found = module(tab, {"vehicle": ["positionKind"]}, f"return positionKind(vehicle(100, {position}, {{isFresh: false}}));")
        assert found == wanted, f"{position}: {found}, not {wanted}"
    found = module(tab, {"reckoning": ["statedRadius"]}, "return [promised(20), vehicle(4), promised(20, {}, {accuracy: undefined})].map((one) => statedRadius(one, now) ?? null);")
    assert found == [19, 4, None], f"the list shows the error bound plus the accuracy: {found}"
    activities(tab)
    newest_odometer(tab)
    clock_steps(tab)
    meridian(tab)
    gaps(tab)
    suspects(tab)
    downloads(tab)
    joined_days(tab)
    trips_under_way(tab)
    views_and_timers(tab)
    settings_without_range(tab)
    other_fragment(tab)
    # At yaw 0 the axis to the right points north, so the front points west.
    for attitude, wanted in (("{yaw: 0, frame: 'xTrueNorthZVertical', axes: 'vehicle'}", "front towards 270° W, axes of the vehicle"),
                             ("{yaw: -Math.PI, frame: 'xMagneticNorthZVertical', axes: 'device'}", "top towards 090° E from magnetic north, axes of the device"),
                             ("{yaw: 1, frame: 'xArbitraryZVertical', axes: 'device'}", "pitch 0.0° up, axes of the device")):
        found = module(tab, {"horizon": ["Horizon"]}, f"const one = new Horizon(); one.show({{roll: 0, pitch: 0, ...{attitude}}}); return one.element.textContent;")
        assert found.endswith(wanted), found


def activities(tab):
    """A speed applies while it is fresh: list, filter, order and statistics use the same mark, which changes with time alone."""
    told = module(tab, {"store": ["Store"], "vehicle": ["activity", "speedOf"], "filters": ["tally", "sorted", "matcher", "noFilter"], "clusters": ["ClusterGrid"]}, """
        const store = new Store(), told = [];
        store.apply({now: new Date(now).toISOString(), vehicles: [
          {...vehicle(5, {speed: 20}), vehicle: "plain"}, {...vehicle(5, {speed: 20, stale: true}), vehicle: "kept"}, {...vehicle(70, {speed: 20}), vehicle: "old"},
          {...vehicle(5), vehicle: "silent"}, {...promised(20), vehicle: "promised"}, {...vehicle(5, {speed: 0.1}), vehicle: "parked"}]});
        const all = () => store.named();
        const look = () => told.push({
          doing: Object.fromEntries(all().map((each) => [each.vehicle, activity(each)])), moving: tally(all()).moving,
          filtered: all().filter(matcher({...noFilter, activities: ["moving"]})).map((each) => each.vehicle),
          fastest: sorted(all(), "speed")[0].vehicle, known: all().filter((each) => speedOf(each) !== undefined).map((each) => each.vehicle)});
        look();
        let changes = 0;
        store.on("vehicles", (changed) => { changes += changed.length; });
        store.age(now + 12_000);
        store.age(now + 56_000);
        look();
        return [...told, changes];""")
    before, after, changes = told
    assert before["doing"] == {"plain": "moving", "kept": "connected", "old": "connected", "silent": "connected", "promised": "moving", "parked": "standing"}, before
    assert before["moving"] == 2 and before["filtered"] == ["plain", "promised"] and before["fastest"] == "plain" and before["known"] == ["parked", "plain", "promised"], before
    assert set(after["doing"].values()) == {"connected"} and after["moving"] == 0 and after["filtered"] == [] and after["known"] == [], after
    # Subscribers of changes redraw map, list and statistics. The vehicle without a speed is included, as its position has become old,
    # too.
    assert changes == 4, changes


def clock_steps(tab):
    """The offset of the server's clock is that of the fastest message of the last minute, also after a step of the browser's clock."""
    told = module(tab, {"store": ["Store"]}, """
        const store = new Store(), own = Date.now, ownElapsed = performance.now;
        const delays = [900, 100, 1500, 400, 1200, 700, 300, 1800];
        let server = now, offset = 0, next = 0;
        Date.now = () => server + offset;
        performance.now = () => server - now;
        // The error of the page's clock, in seconds, after events with delays of up to 1.8 s.
        const after = (seconds, step = 10) => {
          for (let passed = 0; passed < seconds; passed += step) {
            server += step * 1000;
            store.learnTime(new Date(server - delays[next++ % delays.length]).toISOString());
          }
          return (store.now() - server) / 1000;
        };
        try {
          const errors = [after(80)];
          for (const step of [40_000, -40_000, 300_000, -300_000]) {
            offset += step;
            errors.push(after(60));
          }
          // A change of the offset by more than a minute applies immediately, and so does one after a pause.
          offset += 90_000;
          errors.push(after(1, 1));
          server += 120_000;
          offset += 20_000;
          errors.push(after(1, 1));
          return errors;
        } finally {
          Date.now = own;
          performance.now = ownElapsed;
        }""")
    assert all(-2 <= error <= 0 for error in told), told


def meridian(tab):
    """Each step across the 180th meridian is on the shorter side."""
    told = module(tab, {"track": ["Track"], "fleet-layer": ["FleetLayer"], "mercator": ["worldX", "narrowest", "turned"], "reckoning": ["reckoned"], "format": ["place"]}, """
        const track = new Track({from: at(40), time: [0, 10_000, 20_000, 30_000], latitude: [-17, -17, -17, -17], longitude: [179.98, 179.99, -179.99, -179.98]});
        const members = [179.9, -179.9, 179.95].map((longitude) => ({x: worldX(longitude), y: 0.55}));
        const [southWest, northEast] = FleetLayer.bounds({members});
        const crossing = reckoned(vehicle(4, {longitude: 179.9999, speed: 10, course: 90}), now);
        return {
          longitudes: [...track.longitude], widest: Math.max(...[...track.x].map((x, i) => i ? Math.abs(x - track.x[i - 1]) : 0)),
          middle: track.at(track.time[0] + 15_000).longitude, bounds: track.bounds(), cell: northEast[1] - southWest[1], west: southWest[1],
          plain: narrowest([0.2, 0.6, 0.4]), crossing: crossing.longitude, written: place(0, crossing.longitude), turned: [turned(0.9), turned(-0.9), turned(0.1)]};""")
    assert [round(each, 6) for each in told["longitudes"]] == [179.98, 179.99, 180.01, 180.02], told
    assert told["widest"] < 0.0001 and math.isclose(told["middle"], 180) and math.isclose(told["bounds"][0][1], 179.98) and math.isclose(told["bounds"][1][1], 180.02), told
    assert math.isclose(told["cell"], 0.2, abs_tol=1e-6) and math.isclose(told["west"], 179.9), told
    assert told["plain"] == [0.2, 0.6] and told["crossing"] > 180 and told["written"].endswith(", -179.99974"), told
    assert [round(each, 6) for each in told["turned"]] == [-0.1, 0.1, 0.1], told


def trips_under_way(tab):
    """A trip under way counts the positions since its last message; one whose end was never received ends after a day or with the next trip."""
    told = module(tab, {"track": ["Track"], "journal": ["markFollowed", "tripState", "tripDistance", "tripFigures"]}, """
        const track = new Track({from: at(100), time: [0, 10_000, 20_000], latitude: [48, 48.01, 48.02], longitude: [11, 11, 11]});
        const last = new Date(track.time[1]).toISOString(), trip = {phase: "underway", distance: 50, end: {time: last}};
        const later = track.time[1] + 90_000_000, ended = {...trip, phase: "ended"};
        const trips = [{phase: "ended", distance: 20_000, start: {time: at(90)}, end: {time: at(80)}}, {phase: "underway", distance: 10_000, start: {time: at(300)}, end: {time: at(200)}}];
        markFollowed(trips);
        const driven = {...trip, moving: 9, greatestSpeed: 8};
        return {figures: [[driven, track], [driven, undefined], [{...driven, phase: "ended"}, track]].map(([one, way]) => tripFigures(one, way, now).greatestSpeed ?? null),
          lost: trips.map((each) => [tripState(each, now), tripDistance(each, track, now)]), whole: track.distance(), states: [tripState(trip, now), tripState(trip, later), tripState(ended, later)],
          distances: [tripDistance(trip, track, now), tripDistance(ended, track, now), tripDistance(trip, track, later), tripDistance(trip, undefined, now)]};""")
    assert told["lost"] == [["ended", 20_000], ["unfinished", 10_000]], told
    assert math.isclose(told["whole"], 2223.9, rel_tol=1e-3), told
    # An extrapolated distance has no speed of a minute ago.
    assert told["figures"] == [None, 8, 8], told
    assert told["states"] == ["underway", "unfinished", "ended"], told
    assert math.isclose(told["distances"][0], 50 + 1111.95, rel_tol=1e-3) and told["distances"][1:] == [50, 50, 50], told


def newest_odometer(tab):
    """The odometer is that of the newer one of location and status; missing numbers alone need no attention."""
    told = module(tab, {"detail-sections": ["journeySection", "connectionSection"], "vehicle": ["concerns", "isConcerning"]}, """
        const text = (location, status) => journeySection({summary: {}, details: {location, status}, now}).map((each) => each.textContent).join(" ");
        const one = {...vehicle(5), gap: true, missing: 3};
        return [text({time: at(5), odometer: 61000}, {time: at(60), odometer: 52000}), text({time: at(90), odometer: 61000}, {time: at(60), odometer: 52000}),
          text({time: at(5)}, {time: at(60), odometer: 52000}), concerns(one), isConcerning(one),
          concerns({...one, clockLead: 7200}), isConcerning({...one, clockLead: 7200}),
          connectionSection({summary: {...one, clockLead: 7200}, details: {status: {clock: "system", clockStep: -7200}}, now}).map((each) => each.textContent).join(" "),
          concerns({...one, clockLag: 7200}), isConcerning({...one, clockLag: 7200}),
          connectionSection({summary: {...one, clockLag: 7200}, details: {overdueAt: at(-60), status: {}}, now}).map((each) => each.textContent).join(" ")];""")
    assert "61" in told[0] and "52" not in told[0] and "52" in told[1] and "52" in told[2], told
    assert told[3] == [] and told[4] is False, told
    assert told[5] == ["clock ahead by 2\u202fh\u202f00"] and told[6] is True, told
    assert "system clockahead by 2\u202fh\u202f00; last correction" in told[7] and "3 sequence numbers" in told[7], told
    assert told[8] == ["clock behind by 2\u202fh\u202f00"] and told[9] is True, told
    assert "behind by 2\u202fh\u202f00" in told[10] and "Next contact" in told[10], told


def gaps(tab):
    """The server reports the gaps: omitted positions are none. Within a gap the position before it is shown for five minutes."""
    told = module(tab, {"track": ["Track"]}, """
        const columns = {from: at(10_000), time: [0, 7_000_000, 9_000_000], latitude: [48, 48, 48.02], longitude: [11, 11, 11]};
        const track = new Track({...columns, gaps: [2]}), whole = new Track(columns);
        const known = (one, seconds) => one.at(one.time[0] + seconds * 1000).isKnown;
        return [[1, 2].map((index) => track.isGap(index)), [3500, 7299, 7301, 8999, 9001].map((seconds) => known(track, seconds)), known(whole, 8000)];""")
    assert told == [[False, True], [True, True, False, False, True], True], told


def suspects(tab):
    """Lines and distances omit suspect and inaccurate positions; a vehicle with a suspect position needs attention, and has no current speed."""
    told = module(tab, {"track": ["Track"], "vehicle": ["activity", "concerns", "isConcerning", "speedOf"]}, """
        const track = new Track({from: at(60), time: [0, 10_000, 20_000, 30_000, 40_000, 50_000], latitude: [48, 48.01, 55, 48.02, 50, 48.03],
          longitude: [11, 11, -170, 11, 11, 11], accuracy: [3, 3, 1_900_000, 3, 900, 3], source: ["location", "track", "suspect", "location", "location", "coarse"]});
        const one = vehicle(4, {speed: 55, suspect: "velocity"}, {isFresh: true});
        return {distance: track.distance(), lines: [1, 2, 3, 4, 5].map((index) => track.lineTo(index) ?? null), longitudes: [...track.longitude],
          between: [15, 25].map((seconds) => track.at(track.time[0] + seconds * 1000).latitude), north: track.bounds()[1][0],
          speed: speedOf(one) ?? null, activity: activity(one), concerns: concerns(one), isConcerning: isConcerning(one)};""")
    assert math.isclose(told["distance"], 2224, abs_tol=5), told
    assert told["lines"] == ["fix", None, None, "fix", "coarse"] and told["longitudes"] == [11, 11, 190, 11, 11, 11], told
    assert told["between"] == [48.01, 55] and told["north"] == 50, told
    assert told["speed"] is None and told["activity"] == "connected" and told["concerns"] == ["suspect position"] and told["isConcerning"] is True, told


def downloads(tab):
    """Files contain longitudes from -180 to 180, and lines end at the 180th meridian and at coarse and suspect positions."""
    gpx, table = module(tab, {"track": ["Track"], "downloads": ["toGPX", "toCSV"]}, """
        const track = new Track({from: at(60), time: [0, 10_000, 20_000, 30_000, 40_000], latitude: [-17, -17, -17, -17.3, -17],
          longitude: [179.99, -180, -179.99, 179.5, -179.98], accuracy: [3, 3, 3, 3000, 3], source: ["location", "location", "location", "coarse", "location"]});
        return [toGPX(track, "v"), toCSV(track)];""")
    names = {"": "http://www.topografix.com/GPX/1/1", "o": "urn:odograph:export:1"}
    parts = [[float(point.get("lon")) for point in part] for part in xml.etree.ElementTree.fromstring(gpx.encode()).findall(".//trkseg", names)]
    assert parts == [[179.99], [-180, -179.99], [179.5], [-179.98]], gpx
    coarse = xml.etree.ElementTree.fromstring(gpx.encode()).findall(".//o:source", names)
    assert [each.text for each in coarse] == ["coarse"] and gpx.count("<odograph:accuracy>") == 5, gpx
    assert [float(row["longitude"]) for row in csv.DictReader(io.StringIO(table))] == [179.99, -180, -179.99, 179.5, -179.98], table


def joined_days(tab):
    """A trip that the server counts on the next day, as it uses a single time offset, belongs to the requested day."""
    row = "{fleet: 'f', vehicle: 'v', kind: 'drive', trips: 1, day: '2026-10-25', distance: 5, moving: 60}"
    found = module(tab, {"fleet-view": ["joinedDays"]}, f"""
        const row = {row}, other = {{...row, fleet: 'g'}};
        return joinedDays([{{day: '2026-10-25', rows: [row, other, {{...row, day: '2026-10-26', moving: undefined}}]}}, {{day: '2026-10-26', rows: [row]}}])
          .map((one) => [one.fleet, one.day, one.trips, one.distance, one.moving]);""")
    wanted = [["f", "2026-10-25", 2, 10, 60], ["g", "2026-10-25", 1, 5, 60], ["f", "2026-10-26", 1, 5, 60]]
    assert found == wanted, f"days with a clock change: {found}"


def views_and_timers(tab):
    """The subscriptions of a view exist while it is open, and a stopped timer does not run again."""
    told = module(tab, {"view": ["View"], "timers": ["every", "inNextFrame"]}, """
        const calls = [], element = document.createElement("p");
        class Example extends View {
          subscriptions() { calls.push("subscribe"); return [() => calls.push("stop")]; }
          show(route, isOpening) { calls.push(`${route.view} ${isOpening}`); }
          closed() { calls.push("closed"); }
        }
        const view = new Example(), hidden = [];
        view.elements = [element];
        hidden.push(element.hidden);
        for (const act of [() => view.open({view: "map"}), () => view.open({view: "vehicle"}), () => view.close(), () => view.close()]) { act(); hidden.push(element.hidden); }
        let stopped = 0, kept = 0, frames = 0;
        const frame = inNextFrame(() => { frames += 1; });
        frame.request();
        frame.request();
        await new Promise((done) => {
          const stopFirst = every(1, () => { stopped += 1; stopFirst(); });
          const stopSecond = every(1, () => { kept += 1; if (kept === 3) { stopSecond(); done(); } });
        });
        return {calls, hidden, stopped, kept, frames};""")
    assert told["calls"] == ["subscribe", "map true", "vehicle false", "stop", "closed"], told
    assert told["hidden"] == [True, False, False, True, True] and told["stopped"] == 1 and told["kept"] == 3 and told["frames"] == 1, told


def other_fragment(tab):
    """A page that is opened with a fragment that is no route shows the map."""
    view = module(tab, {"router": ["Router"]}, """
        history.replaceState(null, "", "#content");
        let view;
        new Router().start((route) => { view = route.view; });
        history.replaceState(null, "", "#/fleet");
        return view;""")
    assert view == "map", view


def settings_without_range(tab):
    """A number whose key has no limits is valid; limits refuse values outside."""
    told = module(tab, {"settings": ["problemWith"]}, """
        const keys = new Map([["free", {key: "free", type: "number"}], ["bounded", {key: "bounded", type: "integer", minimum: 1, maximum: 5}]]);
        return [problemWith("free", "7", keys), problemWith("free", "x", keys), problemWith("bounded", "5", keys), problemWith("bounded", "6", keys)]
          .map((problem) => problem === undefined);""")
    assert told == [True, False, True, False], told
