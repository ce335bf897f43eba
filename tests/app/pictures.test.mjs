// The pictures that the window's tests have made, for the documents.
import { test } from "node:test";
import { openBrowser } from "../page/browser.mjs";
import { keep } from "../page/kept.mjs";

const browser = await openBrowser();

test("the documents show the window as it is", (t) => keep(t, browser, ["app-panel"]));
