import { executeTurn } from "../turn/turn-executor.ts";
import { agentExecutor } from "./agent-executor.ts";
import { whenExecutor } from "./blueprint/blueprint-when.ts";
import { codeStepExecutor } from "./code-step-executor.ts";
import { conversationExecutor } from "./conversation-executor.ts";
import { loopExecutor } from "./loop-executor.ts";
import { pipelineExecutor } from "./pipeline-executor.ts";
import type { StepExecutor } from "./step-executor.ts";
import type { BuiltInKind } from "./step-kinds.ts";

/** The executors that come with the engine, by the kind of step. */
export const BUILT_IN_EXECUTORS = {
  pipeline: pipelineExecutor,
  loop: loopExecutor,
  "turn-loop": agentExecutor(executeTurn),
  conversation: conversationExecutor(executeTurn),
  run: codeStepExecutor,
  when: whenExecutor,
} satisfies { readonly [K in BuiltInKind]: StepExecutor<never> };
