// OpenAI's client for Node at a server of the tests.
import OpenAI from "openai";
import { tellingFetch } from "./telling.mjs";

/** A client that does not try again, unless it is told to. */
export const clientOf = (server, more = {}) =>
  new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: "none",
    maxRetries: 0,
    fetch: tellingFetch,
    ...more,
  });

/** A client, and the paths it has asked for. */
export function counting(server, more = {}) {
  const asked = [];
  const fetchCounted = (url, init) => {
    asked.push(new URL(url).pathname);
    return tellingFetch(url, init);
  };
  return { client: clientOf(server, { fetch: fetchCounted, ...more }), asked };
}
