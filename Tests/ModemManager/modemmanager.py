"""A fake ModemManager 1.20 on D-Bus, with one modem or none.

usage: modemmanager.py SCENE
  lte        QMI, on LTE: a serving cell with its timing advance, a GSM neighbour with an identity, two LTE ones without
  mbim       the same through MBIM, which reports the timing advance in steps
  gsm        an old modem on GSM without GetCellInfo; its location is off at first
  neighbours the client may not control the modem, and gets only the serving cell
  forbidden  the client may not query the location either
  searching  a modem without a serving cell
  none       no modem
The bus is that of DBUS_SYSTEM_BUS_ADDRESS. Prints "ready" after its start, and "GetCellInfo" for each such call.
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

SERVICE = "org.freedesktop.ModemManager1"
MODEM = SERVICE + ".Modem"
LOCATION = MODEM + ".Location"
PATH = "/org/freedesktop/ModemManager1/Modem/0"


class Refusal(dbus.DBusException):
    def __init__(self, name, text):
        super().__init__(text)
        self._dbus_error_name = name


UNAUTHORIZED = Refusal(SERVICE + ".Error.Core.Unauthorized", "PolicyKit authorization failed: challenge needed")


def cells():
    text, number = dbus.String, dbus.UInt32
    lte = {"serving": True, "cell-type": number(5), "operator-id": text("26201"), "tac": text("BF2A"),
           "ci": text("1A2D003"), "physical-ci": text("4F"), "earfcn": number(1300), "rsrp": -95.5, "rsrq": -11.0,
           "timing-advance": number(4)}
    others = [{"serving": False, "cell-type": number(5), "physical-ci": text(ci), "earfcn": number(1300),
               "rsrp": -101.0, "rsrq": -14.0} for ci in ("50", "51")]
    gsm = {"serving": False, "cell-type": number(2), "operator-id": text("26201"), "lac": text("1F4"),
           "ci": text("2B67"), "arfcn": number(20), "base-station-id": text("3F"), "rx-level": number(25)}
    return [dbus.Dictionary(cell, signature="sv") for cell in (lte, *others, gsm)]


class Modem(dbus.service.Object):
    def __init__(self, bus, scene):
        super().__init__(bus, PATH)
        self.scene = scene
        self.enabled = 0 if scene == "gsm" else 1

    def properties(self):
        is_gsm = self.scene == "gsm"
        port = "ttyUSB2" if is_gsm else "cdc-wdm0"
        kind = {"gsm": 3, "mbim": 7}.get(self.scene, 6)
        modem = {
            "State": dbus.Int32(7 if self.scene == "searching" else 8), "Manufacturer": "Quectel",
            "Model": "M66" if is_gsm else "EG25-G", "AccessTechnologies": dbus.UInt32(1 << (3 if is_gsm else 14)),
            "PrimaryPort": port,
            "Ports": dbus.Array([dbus.Struct((port, dbus.UInt32(kind)))], signature="(su)"),
        }
        location = {"Capabilities": dbus.UInt32(1), "Enabled": dbus.UInt32(self.enabled), "SignalsLocation": False}
        return {MODEM: dbus.Dictionary(modem, signature="sv"), LOCATION: dbus.Dictionary(location, signature="sv")}

    @dbus.service.method(MODEM, out_signature="aa{sv}")
    def GetCellInfo(self):
        print("GetCellInfo", flush=True)
        if self.scene == "gsm":
            raise Refusal(SERVICE + ".Error.Core.Unsupported", "Cannot get cell info: operation not supported")
        if self.scene == "neighbours":
            # D-Bus error with the rules of Debian's package.
            raise Refusal("org.freedesktop.DBus.Error.AccessDenied", "Rejected send message")
        if self.scene == "forbidden":
            raise UNAUTHORIZED
        return dbus.Array([] if self.scene == "searching" else cells(), signature="a{sv}")

    @dbus.service.method(LOCATION, in_signature="ub")
    def Setup(self, sources, signals):
        self.enabled = sources

    @dbus.service.method(LOCATION, out_signature="a{uv}")
    def GetLocation(self):
        if self.scene == "forbidden":
            raise UNAUTHORIZED
        if not self.enabled & 1 or self.scene == "searching":
            return dbus.Dictionary({}, signature="uv")
        line = "262,01,1F4,2B67,0" if self.scene == "gsm" else "262,01,FFFE,1A2D003,BF2A"
        return dbus.Dictionary({dbus.UInt32(1): line}, signature="uv")


class Manager(dbus.service.Object):
    def __init__(self, bus, modem):
        super().__init__(bus, "/org/freedesktop/ModemManager1")
        self.modem = modem

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        objects = {} if self.modem is None else {dbus.ObjectPath(PATH): self.modem.properties()}
        return dbus.Dictionary(objects, signature="oa{sa{sv}}")


def main(scene):
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    name = dbus.service.BusName(SERVICE, bus)
    manager = Manager(bus, None if scene == "none" else Modem(bus, scene))
    print("ready", flush=True)
    GLib.MainLoop().run()
    return name, manager


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
