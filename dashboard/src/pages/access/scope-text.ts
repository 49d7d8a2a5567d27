import type { Answer } from "../../api/client.ts";

export type Token = Answer<"listTokens">["items"][number];
export type Scope = Token["scope"];

/** A scope as it is typed: pipelines with commas, labels as `name=value`. Nothing typed is no limit. */
export function parseScope(
  pipelines: string,
  labels: string,
): { readonly scope: Scope; readonly problem: string | null } {
  const names = listed(pipelines);
  const pairs = listed(labels).map((each) => [each, each.indexOf("=")] as const);
  const wrong = pairs.find(([, at]) => at < 1);
  const values = pairs.map(([each, at]) => [each.slice(0, at).trim(), each.slice(at + 1).trim()]);
  return {
    scope: {
      pipelines: names.length === 0 ? null : names,
      labels: values.length === 0 ? null : Object.fromEntries(values),
    },
    problem: wrong === undefined ? null : `“${wrong[0]}” is no label: write name=value.`,
  };
}

function listed(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** Whether a token still opens anything. */
export function tokenState(token: Token, now: number): "open" | "expired" | "revoked" {
  if (token.revokedAt !== null) return "revoked";
  return token.expiresAt !== null && Date.parse(token.expiresAt) <= now ? "expired" : "open";
}
