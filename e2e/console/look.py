"""Looks at the pages of a console with Chromium: `python -m e2e.console.look ADDRESS FOLDER PATH...`.

Prints as JSON what it has seen of each page, loaded once, at the widths of a telephone and of large screens, and in
dark colours; of the first page also what keys and filters do. A picture of each view goes into the folder, unless that
is `-`. It runs in the environment of `e2e.migration.page`, with Selenium, axe and nothing of ours.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

from axe_core_python.selenium import Axe
from e2e.migration.page.look import browser, resize
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

SIZES: Final = {"narrow": (390, 900), "wide": (1400, 860), "huge": (2560, 1400)}
SERIOUS: Final = ("serious", "critical")
JUDGED: Final = {"resultTypes": ["violations"]}
SECONDS: Final = 20
SCRIPT_SECONDS: Final = 120
TIMES: Final = (
    "const page = performance.getEntriesByType('navigation')[0];"
    "return {server: page.responseStart - page.requestStart, usable: page.domContentLoadedEventEnd}"
)
OVERFLOW: Final = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
GRID: Final = (
    "const grid = document.querySelector('.grid');"
    "return grid && {height: grid.offsetHeight, cells: grid.querySelectorAll('.cell').length}"
)
ROW: Final = "return [...document.querySelectorAll('#jobs tr')].findIndex((row) => row.matches('.at'))"
EXPECTED: Final = "status of 404"
"""What the browser says of a page that is about nothing."""


def seen(driver: webdriver.Chrome, *, judged: bool) -> dict[str, Any]:
    """What the page shows at the size that it has; `judged` by what makes pages hard to read for some people."""
    findings = Axe().run(driver, None, JUDGED)["violations"] if judged else []
    return {
        "overflow": driver.execute_script(OVERFLOW),
        "findings": [
            f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in findings if each["impact"] in SERIOUS
        ],
        "complaints": [each["message"] for each in driver.get_log("browser") if EXPECTED not in each["message"]],
        "grid": driver.execute_script(GRID),
    }


def draw(driver: webdriver.Chrome, folder: str, name: str, width: int, height: int) -> None:
    """Write a picture of what the screen shows, without empty space below the page; none if the folder is `-`."""
    if folder == "-":
        return
    end = driver.execute_script("return document.getElementById('main').getBoundingClientRect().bottom")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, math.ceil(end)), "scale": 1}
    drawn = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})["data"]
    Path(folder, f"{name}.png").write_bytes(base64.b64decode(drawn))


def opened(driver: webdriver.Chrome, address: str) -> None:
    """Open a page, and wait until it is told what changes, if it is to be."""
    driver.get(address)
    live = driver.find_element(By.ID, "live")
    if driver.find_element(By.TAG_NAME, "body").get_dom_attribute("data-since"):
        WebDriverWait(driver, SECONDS).until(lambda _: live.is_displayed())


def keys(driver: webdriver.Chrome) -> dict[str, Any]:
    """What the keys do on the table of jobs."""
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys("?")
    told: dict[str, Any] = {"help": driver.find_element(By.ID, "help").is_displayed()}
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    told["rows"] = []
    for key in "jjk":
        body.send_keys(key)
        told["rows"].append(driver.execute_script(ROW))
    body.send_keys("/")
    told["search"] = driver.switch_to.active_element.get_attribute("name")
    driver.switch_to.active_element.send_keys("j/?")
    told["typed"] = driver.switch_to.active_element.get_attribute("value")
    driver.switch_to.active_element.clear()
    body.send_keys("j")
    link = driver.switch_to.active_element
    target, job = link.get_attribute("href"), link.text
    link.send_keys(Keys.ENTER)
    WebDriverWait(driver, SECONDS).until(lambda _: driver.current_url == target)
    told["opened"] = driver.find_element(By.TAG_NAME, "h1").text.endswith(job)
    return told


def shared(driver: webdriver.Chrome, address: str) -> dict[str, Any]:
    """What a filter does to the address, and whether the address alone shows the same to others."""
    opened(driver, f"{address}/")
    states = Select(driver.find_element(By.NAME, "state"))
    state = states.options[1].text
    states.select_by_index(1)
    WebDriverWait(driver, SECONDS).until(lambda _: f"state={state}" in driver.current_url)
    rows = "return [...document.querySelectorAll('#jobs tr')].map((row) => row.dataset.state)"
    shown, url = driver.execute_script(rows), driver.current_url
    driver.delete_all_cookies()
    driver.switch_to.new_window("tab")
    opened(driver, url)
    return {"shown": shown, "same": driver.execute_script(rows)}


def main(address: str, folder: str, *paths: str) -> None:
    """Look, print, and keep pictures."""
    driver = browser()
    driver.set_script_timeout(SCRIPT_SECONDS)
    told: dict[str, Any] = {"pages": {}}
    for number, path in enumerate(paths):
        told["pages"][path] = {}
        resize(driver, *SIZES["narrow"])
        opened(driver, address + path)
        for name, size in SIZES.items():
            resize(driver, *size)
            told["pages"][path][name] = seen(driver, judged=name == "wide")
            draw(driver, folder, f"{number}-{name}", *size)
        resize(driver, *SIZES["wide"])
        _colours(driver, "dark")
        told["pages"][path]["dark"] = seen(driver, judged=True)
        draw(driver, folder, f"{number}-dark", *SIZES["wide"])
        _colours(driver, "light")
    opened(driver, address + "/")
    told["keys"] = keys(driver)
    told["shared"] = shared(driver, address)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(address + "/")
    told["without scripts"] = len(driver.find_elements(By.CSS_SELECTOR, "#jobs tr"))
    driver.quit()
    json.dump(told, sys.stdout)


def _colours(driver: webdriver.Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


if __name__ == "__main__":
    main(*sys.argv[1:])
