import { z } from "zod";
import { FinalFailure, NeedsHuman } from "../../core/errors.ts";
import { type Tool, type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import { guardedFetch } from "../net/guarded-fetch.ts";
import { LEAST_LENGTH, secretsInAddress, settingSecrets } from "../net/hiding-secrets.ts";
import { decoded, readAtMost } from "../net/response-text.ts";
import { assertAccepted, hostOf, requestOnce } from "./request-outcome.ts";
import { checkSettings, type SettingsOf } from "./settings.ts";

/** Far more than is shown of it, so that the end that is cut off does not matter. */
const MOST_READ = 64_000;

const noticeInput = z.object({ text: z.string().min(1).describe("The message, in a sentence or two.") });

/**
 * Posts to a webhook, once for each text. It gets `{ "text": …, "runId": …, "idempotencyKey": … }`, and the key in the header
 * `Idempotency-Key` as well, so that it can drop duplicates.
 */
export function notify(given: SettingsOf<"notify">): Tool<z.input<typeof noticeInput>, { delivered: true }> {
  const { settings, secrets } = checkSettings("notify", given);
  const { url, keyed = false, headers = {} } = settings;
  return tool({
    name: "notify",
    description: "Send people a message through the configured webhook. The same text is sent once.",
    inputSchema: noticeInput,
    effect: "external",
    recovery: keyed ? "keyed" : "opaque",
    identity: ({ text }) => ({ text }),
    dedupe: "effect",
    timeoutMs: 30_000,
    // Anyone who has the URL of a webhook can post to it.
    secrets: settingSecrets([
      ...secrets,
      url,
      ...[new URL(url).pathname].filter((path) => path.length >= LEAST_LENGTH),
      ...secretsInAddress(url),
      ...Object.values(headers),
    ]),
    urls: () => [url],
    execute: async ({ text }, call) => {
      const response = await post({ url, headers, text }, call);
      const { bytes, isWhole } = await readAtMost(response, MOST_READ);
      assertSettingsWork(url, response);
      const message = call.hide(decoded(bytes, null), { end: !isWhole });
      assertAccepted(url, response, { message, keyed });
      return { delivered: true } as const;
    },
  });
}

type WebhookMessage = {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly text: string;
};

function post({ url, headers, text }: WebhookMessage, call: ToolCallContext): Promise<Response> {
  const { runId, idempotencyKey, traceHeaders } = call;
  return requestOnce(url, call, () =>
    guardedFetch(call)(url, {
      method: "POST",
      headers: {
        ...traceHeaders,
        ...headers,
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
      },
      body: JSON.stringify({ text, runId, idempotencyKey }),
      redirect: "manual",
    }),
  );
}

/** Throws for the responses that only a change of the settings can fix. */
function assertSettingsWork(url: string, { status }: Response): void {
  if (status === 401 || status === 403)
    throw new NeedsHuman("auth_failure", `${hostOf(url)} answered ${status}: check the settings of notify.`);
  if (status >= 300 && status < 400)
    throw new FinalFailure(`${hostOf(url)} answered ${status}: the webhook has moved, change its url.`);
}
