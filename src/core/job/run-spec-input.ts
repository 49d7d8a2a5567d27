import type { Json, JsonObject } from "../json.ts";
import type { Blueprint } from "./blueprint.ts";
import type { RunSpec } from "./run-spec.ts";

type Parts<T> = { readonly [K in keyof T]?: T[K] };

/** A RunSpec as people write it: fields that are left out have their defaults. Keys in snake_case are accepted, too. */
export type RunSpecInput =
  | {
      readonly objective: string;
      readonly pipeline?: string | Blueprint | JsonObject | null;
      readonly input?: Json;
      readonly constraints?: Parts<RunSpec["constraints"]>;
      readonly budgets?: Parts<RunSpec["budgets"]>;
      readonly stopConditions?: readonly string[];
      readonly escalation?: Parts<RunSpec["escalation"]>;
      readonly artifacts?: Parts<RunSpec["artifacts"]>;
    }
  | { readonly objective: string; readonly [field: string]: Json };
