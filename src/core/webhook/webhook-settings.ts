import { type AccessScope, readScope } from "../access/scope.ts";
import { ConfigurationError } from "../errors.ts";
import { checkUrl } from "../network-policy.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "./webhook-events.ts";

/** Where something is sent, and what. */
export type WebhookSettings = {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** The runs that it is about. */
  readonly scope: AccessScope;
  /** Questions, arguments and messages of errors are sent, too. */
  readonly content: boolean;
};

const MOST_URL = 2_000;
const PUBLIC = { allowedDomains: [], allowPrivateAddresses: false } as const;
const ANYWHERE = { allowedDomains: [], allowPrivateAddresses: true } as const;

/** The checked settings; they may come from a caller without types. */
export function readWebhookSettings(given: WebhookSettings): WebhookSettings {
  const { url, events, scope, content } = given;
  if (typeof content !== "boolean")
    throw new ConfigurationError("The content of a webhook is no truth value: give true or false.");
  return { url: readUrl(url), events: readEvents(events), scope: readScope(scope), content };
}

/** Whether a private address may be reached is decided where it is sent: see `allowPrivateWebhooks` of the server. */
function readUrl(given: unknown): string {
  const url = typeof given === "string" && given.length <= MOST_URL ? URL.parse(given) : null;
  if (url === null)
    throw new ConfigurationError(
      `The address of a webhook is no URL of at most ${MOST_URL} characters: give one such as https://example.com/pawl.`,
    );
  const check = checkUrl(ANYWHERE, url);
  if (!check.ok) throw new ConfigurationError(`The address of the webhook is refused. ${check.why}`);
  if (url.protocol === "http:" && checkUrl(PUBLIC, url).ok)
    throw new ConfigurationError(
      `The address of the webhook is on ${url.host} and not encrypted: give an https URL. Only private hosts may have http.`,
    );
  url.hash = "";
  return url.href;
}

function readEvents(given: unknown): readonly WebhookEvent[] {
  const names: readonly unknown[] = Array.isArray(given) ? given : [];
  const strange = names.find((name) => !WEBHOOK_EVENTS.some((event) => event === name));
  if (names.length === 0 || strange !== undefined)
    throw new ConfigurationError(
      `A webhook has ${strange === undefined ? "no events" : `the event ${JSON.stringify(strange)}`}: give some of ${WEBHOOK_EVENTS.join(", ")}.`,
    );
  return WEBHOOK_EVENTS.filter((event) => names.includes(event));
}
