#!/usr/bin/env python3
"""Runs Home Assistant's core with its MQTT integration, until it has discovered vehicles with a position and a speed.
usage: home_assistant.py PORT. Prints a JSON line for each entity: its id, state and attributes."""

import asyncio
import json
import logging
import pathlib
import sys
import tempfile

from homeassistant import config_entries, core, loader
from homeassistant.helpers import area_registry, device_registry, entity, entity_registry, issue_registry, restore_state, template, translation
from homeassistant.setup import async_setup_component


async def start(folder):
    hass = core.HomeAssistant(folder)
    hass.config.skip_pip = True
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    loader.async_setup(hass)
    entity.async_setup(hass)
    template.async_setup(hass)
    translation.async_setup(hass)
    for registry in (area_registry, device_registry, entity_registry, issue_registry):
        await registry.async_load(hass)
    await restore_state.async_load(hass)
    await hass.config_entries.async_initialize()
    # These components would listen on a port, and are not needed.
    hass.config.components |= {"http", "file_upload"}
    await async_setup_component(hass, "homeassistant", {})
    hass.set_state(core.CoreState.running)
    return hass


async def main(port):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "configuration.yaml").touch()
        hass = await start(folder)
        entry = config_entries.ConfigEntry(
            version=1, minor_version=1, domain="mqtt", title="broker", source="user",
            data={"broker": "127.0.0.1", "port": port, "discovery": True},
        )
        await hass.config_entries.async_add(entry)
        for _ in range(600):
            await asyncio.sleep(0.1)
            states = {state.entity_id: state for state in hass.states.async_all()}
            trackers = [state for name, state in states.items() if name.startswith("device_tracker.")]
            speeds = [state for name, state in states.items() if name.endswith("_speed")]
            if trackers and speeds and all("latitude" in state.attributes for state in trackers):
                if all(state.state not in ("unknown", "unavailable") for state in speeds):
                    break
        for name, state in sorted(states.items()):
            print(json.dumps({"id": name, "state": state.state, "attributes": dict(state.attributes)}, default=str))
        await hass.async_stop(force=True)


# Messages about missing parts of other integrations are not of interest.
logging.basicConfig(level=logging.CRITICAL, stream=sys.stderr)
logging.getLogger("homeassistant.components.mqtt").setLevel(logging.WARNING)
asyncio.run(main(int(sys.argv[1])))
