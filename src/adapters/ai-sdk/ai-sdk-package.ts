import type * as AiSdk from "ai";
import { ConfigurationError } from "../../core/errors.ts";

export type AiSdkPackage = typeof AiSdk;

let loaded: AiSdkPackage | undefined;

/** Imports the AI SDK on first use: it is an optional peer dependency. */
export async function loadAiSdk(): Promise<AiSdkPackage> {
  loaded ??= checkVersion(await importAiSdk());
  return loaded;
}

async function importAiSdk(): Promise<AiSdkPackage> {
  try {
    return await import("ai");
  } catch (error) {
    // A package that is not there has no cause that is worth printing.
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    throw new ConfigurationError(
      'Models and tools of the AI SDK need the package "ai", which could not be loaded: run `npm install ai@7` beside pawl.',
      { package: "ai" },
      isMissing ? {} : { cause: error },
    );
  }
}

/**
 * Version 7 renamed `system` to `instructions`, and earlier versions ignore unknown settings: an agent would silently run
 * without its instructions. `isStepCount` exists since version 7.
 */
function checkVersion(ai: AiSdkPackage): AiSdkPackage {
  if (typeof ai.isStepCount === "function") return ai;
  throw new ConfigurationError(
    'Models and tools of the AI SDK need version 7 of the package "ai": run `npm install ai@7` beside pawl.',
    {
      package: "ai",
    },
  );
}
