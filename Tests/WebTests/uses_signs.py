"""The symbols of the map for kinds of positions, and the details about them, for matching messages."""
import json
import time

from page import vehicles_known

epoch = "00000000000000e1"
# Vehicles far from each other, so that each is alone on the map.
origin, apart = 50.0, 0.2


def stamp(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z"


class Vehicle:
    def __init__(self, fleet, name, index):
        self.fleet, self.name, self.number = fleet, name, 0
        self.topic, self.place = f"odograph/v1/{fleet.name}/{name}", (origin + index * apart, 8.0)

    def status(self, state="online", **more):
        now = stamp(time.time())
        self._publish("status", {"state": state, "time": now, "sessionStart": now, "remote": True, **more}, retain=True)

    def location(self, age=0.0, retain=False, **more):
        self._publish("location", {"time": stamp(time.time() - age), "latitude": self.place[0], "longitude": self.place[1], "horizontalAccuracy": 20, **more}, retain)

    def _publish(self, kind, payload, retain=False):
        self.number += 1
        self.fleet.publish(f"{self.topic}/{kind}", {**payload, "epoch": epoch, "seq": self.number}, retain)

    def open(self, page, zoom=17):
        """Opens the map with this vehicle in the middle, without anything above it."""
        latitude, longitude = self.place
        return page.open(f"#/map?at={latitude:.6f},{longitude:.6f}&zoom={zoom}")


def pixels(radius):
    """Returns an expression for the colours around the middle of the map's canvas: [x, y, "r,g,b"] of painted pixels."""
    return ("(() => { const c = document.querySelector('.leaflet-fleet-pane canvas'), r = %d; const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});"
            " copy.drawImage(c, 0, 0); const w = 2 * r + 1, d = copy.getImageData(Math.round(c.width / 2) - r, Math.round(c.height / 2) - r, w, w).data, found = [];"
            " for (let i = 0; i < w * w; i += 1) if (d[4 * i + 3] > 0) found.push([i %% w - r, Math.floor(i / w) - r, [...d.slice(4 * i, 4 * i + 3)].join(','), d[4 * i + 3]]);"
            " return found; })()" % radius)


def colour(tab, name):
    return tab.run("(() => { const c = new OffscreenCanvas(1, 1).getContext('2d'); c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--%s');"
                   " c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(','); })()" % name)


def alike(found, paint, tolerance):
    """Returns true if two colours are equal, except for antialiasing."""
    return sum(abs(int(a) - int(b)) for a, b in zip(found.split(","), paint.split(","), strict=True)) < tolerance


def ring(painted, paint, least, greatest, tolerance=120):
    """Counts the pixels of a colour between two distances from the middle."""
    return sum(1 for x, y, found, alpha in painted if alike(found, paint, tolerance) and alpha > 150 and least <= (x * x + y * y) ** 0.5 <= greatest)


def use_signs(page):
    """Measured, inertial, coarse, suspect, old and extrapolated positions look as in the legend; circles and trails."""
    fleet = page.fleet
    vehicles = {name: Vehicle(fleet, f"car-{index}", index) for index, name in enumerate(("fix", "inertial", "coarse", "old", "ahead", "suspect"))}
    for vehicle in vehicles.values():
        vehicle.status()
    tab = page.open("#/vehicles")
    paper, standing, moving, connected = [colour(tab, name) for name in ("paper", "state-standing", "state-moving", "state-connected")]
    vehicles["fix"].location(speed=0)
    vehicles["inertial"].location(speed=0, positionSource="inertial")
    vehicles["coarse"].location(speed=0, positionSource="coarse", horizontalAccuracy=60)
    vehicles["suspect"].location(speed=55, suspect="velocity", horizontalAccuracy=3)
    vehicles["old"].location(age=100, speed=15, course=90)
    tab.wait("document.querySelector('.table-scroll').getAttribute('aria-rowcount') === '7'")
    words = {"fix": "Stopped", "inertial": "inertial", "coarse": "coarse", "suspect": "suspect", "old": "Connected"}
    for name, word in words.items():
        row = f"[...document.querySelectorAll('.vehicles-view .rows > :not([hidden])')].find((e) => e.textContent.includes({json.dumps(vehicles[name].name)}))?.textContent"
        tab.wait(f"{row}?.includes({json.dumps(word)})", f"{name}: {word}")
    row = tab.run("[...document.querySelectorAll('.vehicles-view .rows > :not([hidden])')].find((e) => e.textContent.includes('Connected') && e.textContent.includes('old'))?.textContent")
    assert row and "km/h" not in row, f"a speed of 100 s ago is shown: {row}"

    def look(name, radius, painted_when):
        seen = vehicles[name].open(page)
        seen.wait(f"document.querySelector('.list-status')?.textContent.startsWith('6 vehicles')")
        end = time.monotonic() + 15
        while True:
            painted = seen.run(pixels(radius))
            if painted_when(painted) or time.monotonic() > end:
                page.picture(f"sign-{name}")
                return painted
            time.sleep(0.1)

    # A disc in the colour of the vehicle, and a circle of 20 m around it: a pixel is 0.77 m here.
    found = look("fix", 40, lambda painted: ring(painted, standing, 0, 6) > 60)
    assert ring(found, standing, 0, 6) > 60 and ring(found, standing, 11, 15) == 0, "a measured position"
    assert any(abs((x * x + y * y) ** 0.5 - 20 / 0.7676) < 1 and 60 < alpha < 220 for x, y, _, alpha in found), "its circle"
    found = look("inertial", 40, lambda painted: ring(painted, standing, 11.5, 14.5) > 40)
    assert ring(found, standing, 11.5, 14.5) > 40, "a dashed ring"
    found = look("coarse", 90, lambda painted: ring(painted, standing, 15, 17.5, 260) > 15)
    assert ring([each for each in found if each[0] < 14], standing, 15, 17.5, 260) > 15, "a dotted ring"
    found = look("suspect", 40, lambda painted: ring(painted, connected, 11.5, 17) > 20)
    assert ring(found, connected, 11.5, 17) > 20, "crossed"
    tab = page.open(f"#/vehicle/{fleet.name}/{vehicles['suspect'].name}")
    tab.wait("document.querySelector('.details')?.textContent.includes('suspect position')", "the concern")
    below = lambda painted: sum(1 for x, y, each, _ in painted if alike(each, connected, 120) and 11 <= y <= 13 and abs(x) < 9)
    found = look("old", 40, lambda painted: below(painted) > 20)
    assert below(found) > 20, "a line below"
    # Extrapolated for seconds: hollow, away from its report, with a dotted line between them.
    vehicles["ahead"].location(age=3, speed=10, course=90, horizontalAccuracy=3)
    ahead = lambda painted: [(x, each) for x, y, each, alpha in painted if alpha > 150 and x > 30 and abs(y) < 12]
    found = look("ahead", 150, lambda painted: any(alike(each, moving, 60) for _, each in ahead(painted)))
    painted, hollow = (sum(1 for _, each in ahead(found) if alike(each, paint, 60)) for paint in (moving, paper))
    assert painted > 15 and hollow > painted, f"a hollow arrow beside its report: {painted}, {hollow}"
    assert sum(1 for x, y, each, alpha in found if alike(each, moving, 200) and alpha > 60 and abs(y) <= 1 and 4 < x < 30) > 8, "a line from its report"
    # The trail of the selected vehicle.
    for step in range(3):
        vehicles["fix"].place = (origin, 8.0 + step * 0.0004)
        vehicles["fix"].location(speed=0)
        time.sleep(0.4)
        if step == 0:
            tab = page.open(f"#/vehicle/{fleet.name}/{vehicles['fix'].name}?at={origin},{8.0}&zoom=17")
            tab.wait("document.querySelector('.details .facts')")
            time.sleep(0.6)
    accent = colour(tab, "accent")
    end = time.monotonic() + 15
    while ring(tab.run(pixels(60)), accent, 0, 45) < 60 and time.monotonic() < end:
        time.sleep(0.1)
    page.picture("trail")
    assert ring(tab.run(pixels(60)), accent, 0, 45) > 60, "the trail"
    for vehicle in vehicles.values():
        fleet.publish(f"{vehicle.topic}/status", b"", retain=True)


def use_labels(page):
    """Names are shown beside the symbols as far as there is room, for any number of vehicles."""
    fleet, side = page.fleet, 12
    vehicles = [Vehicle(fleet, f"van-{index + 1}", 0) for index in range(side * side)]
    for index, vehicle in enumerate(vehicles):
        # 43 by 84 pixels apart at zoom 16.
        vehicle.place = (origin + 0.0006 * (index % side), 8.0 + 0.0018 * (index // side))
        vehicle.location(speed=0)
        if index in (39, 69, 143):
            tab = page.open(f"#/map?at={origin + 0.0033},{8.0099}&zoom=16")
            vehicles_known(tab, index + 1)
            # The names that the next frames draw.
            named = tab.run("""new Promise((resume) => {
              const names = new Set(), write = CanvasRenderingContext2D.prototype.fillText;
              CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { names.add(text); return write.call(this, text, ...rest); };
              setTimeout(() => { CanvasRenderingContext2D.prototype.fillText = write; resume([...names].filter((each) => each.startsWith("van-")).length); }, 2500);
            })""")
            page.picture(f"labels-{index + 1}")
            assert named >= min(60, (index + 1) * 0.9), f"{named} names of {index + 1} vehicles"
    page.check()


def use_promise(page):
    """A vehicle that reports within bounds is shown with its delay; the details contain the bound, and its expiry."""
    vehicle = Vehicle(page.fleet, "bounded", 7)
    vehicle.status()
    predict = {"velocityEast": 10, "velocityNorth": 0, "bound": 15, "delay": 5, "validity": 25, "growth": 2}
    vehicle.location(age=6, speed=10, course=90, predict=predict)
    tab = page.open(f"#/vehicle/{page.fleet.name}/bounded")
    fact = "[...document.querySelectorAll('.details dt')].find((e) => e.textContent === 'Error bound')?.nextElementSibling.textContent"
    tab.wait(f"{fact}?.includes('within 35') && {fact}.includes('with 5\u202fs delay')", "the error bound and the delay")
    told = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/bounded")
    assert told["prediction"]["delay"] == 5, told
    # The position is the one on the map, and not that of the last report.
    place = "Number([...document.querySelectorAll('.details dt')].find((e) => e.textContent === 'Coordinates').nextElementSibling.textContent.match(/, (\\d+\\.\\d{5})/)[1])"
    tab.wait(f"{place} > 8.00005", f"the predicted place: {tab.run(place)}")
    assert told["position"]["longitude"] == 8 and told["position"]["now"]["longitude"] > 8 and told["position"]["now"]["radius"] == 35, told["position"]
    # The next report arrives before it is in effect: until then, the previous one applies.
    vehicle.location(age=1, speed=0, predict={**predict, "velocityEast": 0, "validity": 1})
    tab.wait("document.querySelector('.details .raw')")
    tab.wait(f"{fact}?.includes('expired')", "that it has expired", 20)
    text = "[...document.querySelectorAll('.details dt')].find((e) => e.textContent === 'Speed')?.nextElementSibling.textContent"
    tab.wait(f"{text} === 'unknown0 km/h when the position was measured'", "the speed as unknown")
    page.picture("promise")
    page.check()
    page.fleet.publish(f"{vehicle.topic}/status", b"", retain=True)


def use_sections(page):
    """Energy, sensors, a growing queue, and attitude from a status and an attitude message."""
    vehicle = Vehicle(page.fleet, "lorry", 9)
    vehicle.status(
        uptime=7200, counters={"queue.records": 140}, externalPower=False, battery={"level": 0.15, "charging": False, "voltage": 11.4},
        energy={"total": 5400, "receiver": {"joules": 3000, "seconds": 600, "starts": 4, "bytes": 0}},
        sources=[{"name": "gps", "state": "running", "rates": {"fix": 1}}, {"name": "imu", "state": "failed", "reason": "no such device"}],
        services={"location": "available", "heading": "no magnetometer"}, degraded={"navigation": "no inertial sensor"})
    vehicle.location(speed=0)
    tab = page.open(f"#/vehicle/{page.fleet.name}/lorry")
    tab.wait("document.querySelector('#section-sensors')?.parentElement.textContent.includes('no such device')", "a failed source with the reason")
    text = {name: tab.run(f"document.querySelector('#section-{name}').parentElement.textContent") for name in ("connection", "power", "sensors", "device")}
    for section, words in {
        "connection": ("140 messages",), "power": ("15 %", "11.4 V", "External powerno", "5,400 J", "receiver3,0006004"),
        "sensors": ("gpsrunningfix 1.0 Hz", "imufailed: no such device", "headingno magnetometer", "navigationno inertial sensor"), "device": ("2 h 00",),
    }.items():
        for word in words:
            assert word in text[section], f"{word} is not in {text[section]}"
    found = tab.run("[...document.querySelectorAll('.concerns li')].map((e) => e.textContent)")
    assert found == ["battery low", "many messages queued"], found
    page.picture("sections")
    page.check()
    page.fleet.publish(f"{vehicle.topic}/status", b"", retain=True)
