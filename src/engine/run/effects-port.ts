import type { LiveListener } from "../../core/turn/live-part.ts";
import { type FileContent, replaceFile } from "../../store/guarded-folder.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { ToolCallContext } from "../definition/tool.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../ports/model-port.ts";

/** Identifies one model attempt of a run. */
export type ModelAttemptId = {
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
  /** 1 for the first attempt of the turn. */
  readonly attempt: number;
};

/**
 * Everything that a run does outside of the store and the clock: nothing else calls a model, runs a tool or writes a file
 * of a run. The crash explorer replaces it, to see every effect of a run and when it happens.
 */
export interface EffectsPort {
  /** `live` is given if somebody may watch the answer while it is written. */
  ask(
    model: ModelPort,
    request: ModelRequest,
    attempt: ModelAttemptId,
    live?: LiveListener,
  ): Promise<ModelResponse>;
  execute(tool: PreparedTool, input: unknown, call: ToolCallContext): unknown;
  reconcile(tool: PreparedTool, input: unknown, call: ToolCallContext): unknown;
  /** Atomic: the file is replaced whole or not at all. */
  writeFile(path: string, content: FileContent): Promise<void>;
}

/** The default: calls the model, the tool and the file system directly. */
export const DIRECT_EFFECTS: EffectsPort = {
  ask: (model, request, _attempt, live) => model.respond(request, live),
  execute: (tool, input, call) => tool.execute(input as never, call),
  reconcile: (tool, input, call) => tool.reconcile?.(input as never, call),
  writeFile: replaceFile,
};
