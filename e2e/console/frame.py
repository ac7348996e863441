"""Looks with Chromium at a console in a frame: `python -m e2e.console.frame DASHBOARD STRANGER NAMESPACE`.

The DASHBOARD is a page with the console in a frame, from the same origin; the STRANGER is a page of another origin that
tries to have it in a frame, to fetch it, to follow it, and to run its script. Prints as JSON what each has seen; it
runs in the environment of `e2e.migration.page`.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from e2e.migration.page.look import browser
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

SECONDS: Final = 20
TRIED: Final = "return window.tried"


def dashboard(driver: webdriver.Chrome, address: str, namespace: str) -> dict[str, Any]:
    """What the frame of the dashboard shows before and after a namespace is chosen, and whether it is live."""
    driver.get(address)
    frame = driver.find_element(By.TAG_NAME, "iframe")
    driver.execute_script("document.querySelector('select').value = arguments[0]; choose()", namespace)
    driver.switch_to.frame(frame)

    def chosen(_: object) -> bool:
        found = driver.find_elements(By.CSS_SELECTOR, "select[name=namespace]")
        return bool(found) and found[0].get_attribute("value") == namespace

    WebDriverWait(driver, SECONDS).until(chosen)
    live = driver.find_element(By.ID, "live")
    WebDriverWait(driver, SECONDS).until(lambda _: live.is_displayed())
    told = {"rows": [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#jobs .job a")]}
    driver.find_element(By.CSS_SELECTOR, "#jobs .job a").click()
    WebDriverWait(driver, SECONDS).until(lambda _: driver.find_elements(By.ID, "head"))
    return {**told, "job": driver.find_element(By.TAG_NAME, "h1").text}


def stranger(driver: webdriver.Chrome, address: str) -> dict[str, Any]:
    """What a page of another origin gets."""
    driver.switch_to.default_content()
    driver.get(address)
    WebDriverWait(driver, SECONDS).until(lambda _: len(driver.execute_script(TRIED)) == 3)
    told = dict(driver.execute_script(TRIED))
    driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
    return {**told, "frame": bool(driver.find_elements(By.ID, "main"))}


def main(page: str, other: str, namespace: str) -> None:
    """Look, and print."""
    driver = browser()
    told = {"dashboard": dashboard(driver, page, namespace), "stranger": stranger(driver, other)}
    driver.quit()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
