import type { Answer } from "../api/client.ts";

type Scope = Answer<"getMe">["scope"];

/** Which runs a token or a webhook is for, in words. */
export function scopeWords({ pipelines, labels }: Scope): string {
  const parts = [
    ...(pipelines === null ? [] : [pipelines.join(", ")]),
    ...Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`),
  ];
  return parts.length === 0 ? "all runs" : parts.join(" · ");
}
