import { type FileContent, replaceFile } from "../../store/guarded-folder.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { ToolCallContext } from "../definition/tool.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../ports/model-port.ts";

/** Which request it is, of those that the run makes. */
export type ModelAttemptId = {
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
  /** 1 the first time that the turn is tried. */
  readonly attempt: number;
};

/**
 * The doors to the outside, beside the store and the clock: nothing else asks a model, runs a tool or writes a file of a
 * run. Whoever stands in them sees everything that a run does, and when: the crash explorer does.
 */
export interface EffectsPort {
  ask(model: ModelPort, request: ModelRequest, place: ModelAttemptId): Promise<ModelResponse>;
  execute(tool: PreparedTool, input: unknown, call: ToolCallContext): unknown;
  reconcile(tool: PreparedTool, input: unknown, call: ToolCallContext): unknown;
  /** Whole or not at all. */
  writeFile(path: string, content: FileContent): Promise<void>;
}

export const DIRECT_EFFECTS: EffectsPort = {
  ask: (model, request) => model.respond(request),
  execute: (tool, input, call) => tool.execute(input as never, call),
  reconcile: (tool, input, call) => tool.reconcile?.(input as never, call),
  writeFile: replaceFile,
};
