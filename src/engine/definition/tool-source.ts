import type { Json } from "../../core/json.ts";
import type { NetworkPolicy } from "../../core/network-policy.ts";
import type { Tool, ToolCallContext } from "./tool.ts";

const TOOL_SOURCE = Symbol.for("pawl.tool-source");

/**
 * Tools that nobody knows before they are asked for, such as those of an MCP server. It stands among an agent's `tools`
 * under the name that its tools begin with, and is opened by a run that comes to that agent.
 */
export type ToolSource = {
  readonly [TOOL_SOURCE]: true;
  /** What its tools' names begin with; null: the key that it stands under. */
  readonly name: string | null;
  /** Paths of this machine that it was given; its tools may work in them. */
  readonly places?: readonly string[];
  /** Opens it for one run, under this name. Rejects with one sentence when it cannot be had. */
  open(name: string, opening: SourceOpening): Promise<OpenTools>;
};

export type SourceOpening = {
  /** Aborts when the run is cancelled or taken over. */
  readonly signal: AbortSignal;
  /** Where the run may connect to. */
  readonly network: NetworkPolicy;
  /** Says something to whoever watches the run. */
  readonly warn: (message: string) => void;
  /** Has the run hide these texts, which the operator gave the source, from here on. */
  readonly learnSecrets: (texts: readonly string[]) => void;
  /** A text without secrets, as `hide` of a call: before it is cut. */
  readonly hide: ToolCallContext["hide"];
  /** A value without the texts that are secret. What stands under a secret name stays: a schema says there what it is like. */
  readonly hideTexts: <T extends Json>(value: T) => T;
};

/** What a source has, as it was when it was opened: it stays so until it is closed. */
export type OpenTools = {
  readonly tools: { readonly [name: string]: Tool };
  /** Lets go of it; resolves when nothing of it is left. It never rejects, and does not take longer than a few seconds. */
  close(): Promise<void>;
};

/** A source from its parts; for adapters. */
/** Gives the tools of sources, each of which it opens once in a run. */
export interface OpenSources {
  toolsOf(sources: { readonly [key: string]: ToolSource }): Promise<{ readonly [name: string]: Tool }>;
}

export function makeToolSource(parts: Pick<ToolSource, "name" | "open" | "places">): ToolSource {
  return { ...parts, [TOOL_SOURCE]: true };
}

export function isToolSource(value: unknown): value is ToolSource {
  return typeof value === "object" && value !== null && TOOL_SOURCE in value;
}
