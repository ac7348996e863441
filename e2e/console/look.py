"""Looks at the pages of a console with Chromium: `python -m e2e.console.look ADDRESS FOLDER PATH...`.

Prints as JSON what it has seen of each page at the width of a telephone and of a large screen, and puts a picture of
each into the folder. It runs in the environment of `e2e.migration.page`, with Selenium, axe and nothing of ours.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final

from axe_core_python.selenium import Axe
from e2e.migration.page.look import browser, resize
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

SIZES: Final = {"narrow": (390, 900), "wide": (1400, 860), "huge": (2560, 1400)}
SERIOUS: Final = ("serious", "critical")
SECONDS: Final = 20
SCRIPT_SECONDS: Final = 120
MOST_LINKS: Final = 200
TIMES: Final = (
    "const page = performance.getEntriesByType('navigation')[0];"
    "return {server: page.responseStart - page.requestStart, usable: page.domContentLoadedEventEnd}"
)


def seen(driver: webdriver.Chrome, *, judged: bool) -> dict[str, Any]:
    """What the page shows at the size that it has; `judged` by what makes pages hard to read for some people."""
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    findings = Axe().run(driver)["violations"] if judged else []
    return {
        "overflow": driver.execute_script(overflow),
        "findings": [
            f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in findings if each["impact"] in SERIOUS
        ],
        "complaints": [each["message"] for each in driver.get_log("browser")],
        "times": driver.execute_script(TIMES),
    }


def _small(driver: webdriver.Chrome) -> bool:
    """Whether axe can judge the page in seconds; a grid of 512 is made of what one of 4 is made of."""
    return len(driver.find_elements(By.CSS_SELECTOR, "main a")) < MOST_LINKS


def keys(driver: webdriver.Chrome) -> dict[str, Any]:
    """What the keys do on the table of jobs."""
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys("?")
    told: dict[str, Any] = {"help": driver.find_element(By.ID, "help").is_displayed()}
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    body.send_keys("jj")
    told["row"] = driver.execute_script(
        "return [...document.querySelectorAll('#jobs tr')].findIndex((r) => r.matches('.at'))"
    )
    body.send_keys("/")
    told["search"] = driver.switch_to.active_element.get_attribute("name")
    return told


def main(address: str, folder: str, *paths: str) -> None:
    """Look, print, and keep pictures."""
    driver = browser()
    driver.set_script_timeout(SCRIPT_SECONDS)
    told: dict[str, Any] = {}
    for number, path in enumerate(paths):
        for name, (width, height) in SIZES.items():
            resize(driver, width, height)
            driver.get(address + path)
            live = driver.find_element(By.ID, "live")
            if driver.find_element(By.TAG_NAME, "body").get_dom_attribute("data-since"):
                WebDriverWait(driver, SECONDS).until(lambda _, shown=live: shown.is_displayed())
            told.setdefault(path, {})[name] = seen(driver, judged=name == "wide" and _small(driver))
            picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
            Path(folder, f"{number}-{name}.png").write_bytes(base64.b64decode(picture))
    resize(driver, *SIZES["wide"])
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    driver.get(address + paths[0])
    told["dark"] = {"wide": seen(driver, judged=True)}
    driver.get(address + "/")
    told["keys"] = keys(driver)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(address + "/")
    told["without scripts"] = len(driver.find_elements(By.CSS_SELECTOR, "#jobs tr"))
    driver.quit()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
