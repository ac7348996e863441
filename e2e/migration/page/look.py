"""Looks at a page with Chromium: `python -m e2e.migration.page.look PAGE FOLDER`.

Prints as JSON what it has seen at the width of a telephone and of a screen, and puts a picture of each into the
folder. It runs in an environment of its own, with Selenium and nothing of this project's.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

WIDTHS: Final = {"narrow": (390, 1500), "wide": (1600, 1300)}


def browser() -> webdriver.Chrome:
    """Debian's Chromium without a screen."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """Show the page on a screen of this size."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def rows(driver: webdriver.Chrome) -> int:
    """How many jobs the table shows."""
    count = "return [...document.querySelectorAll('.jobs tbody tr[id]')].filter((row) => row.offsetHeight).length"
    return int(driver.execute_script(count))


def chosen(driver: webdriver.Chrome, name: str, value: str) -> int:
    """How many jobs are left with one value of one filter alone."""
    select = Select(driver.find_element(By.NAME, name))
    select.select_by_value(value)
    left = rows(driver)
    select.select_by_value("")
    return left


def seen(driver: webdriver.Chrome) -> dict[str, Any]:
    """What the page does at the size that it has."""
    result: dict[str, Any] = {"all": rows(driver)}
    result["overflow"] = driver.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    result["verdict"] = chosen(driver, "verdict", "impossible")
    result["namespace"] = chosen(driver, "namespace", "team-ads")
    result["owner"] = chosen(driver, "owner", "robotics")
    result["kind"] = chosen(driver, "kind", "TFJob")
    Select(driver.find_element(By.NAME, "group")).select_by_value("owner")
    result["groups"] = [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".jobs .group")]
    Select(driver.find_element(By.NAME, "group")).select_by_value("")
    cause = driver.find_element(By.CSS_SELECTOR, ".steps a[data-cause=MIG403]")
    cause.click()
    result["cause"] = rows(driver)
    driver.execute_script("document.querySelector('.filters').reset(); update()")
    link = driver.find_element(By.CSS_SELECTOR, ".jobs a[href^='#diff-']")
    target = str(link.get_attribute("href")).partition("#")[2]
    link.click()
    result["diff"] = driver.find_element(By.ID, target).is_displayed()
    result["complaints"] = [each["message"] for each in driver.get_log("browser")]
    return result


def main(page: str, folder: str) -> None:
    """Look, print, and keep pictures."""
    result: dict[str, Any] = {}
    driver = browser()
    for name, (width, height) in WIDTHS.items():
        resize(driver, width, height)
        driver.get(Path(page).resolve().as_uri())
        picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
        Path(folder, f"fleet-{name}.png").write_bytes(base64.b64decode(picture))
        result[name] = seen(driver)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(Path(page).resolve().as_uri())
    result["without scripts"] = {
        "all": len(driver.find_elements(By.CSS_SELECTOR, ".jobs tbody tr[id]")),
        "form hidden": driver.find_element(By.CSS_SELECTOR, ".filters").get_dom_attribute("hidden") is not None,
    }
    driver.quit()
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
