/** Tool results go into the session, so that they survive the process and the files they came from. */
import { z } from "zod";
import { append, defineSlice, tool } from "../../src/index.ts";

export const AnalysisResult = z.object({
  filePath: z.string(),
  summary: z.string(),
  metrics: z.record(z.string(), z.number()),
});
export type AnalysisResult = z.infer<typeof AnalysisResult>;

type FileAnalysed = { readonly type: "FileAnalysed"; readonly result: AnalysisResult };

export const analysisResults = defineSlice({
  name: "AnalysisResult",
  schema: AnalysisResult,
  reducers: { FileAnalysed: append(({ result }: FileAnalysed) => result) },
});

/** `service` does the work and charges for it; it ignores a second order with the same key. */
export function analyzeFile(service: (key: string, path: string) => void) {
  return tool({
    name: "analyze_file",
    description: "Analyse a file and keep the result.",
    inputSchema: z.object({ path: z.string() }),
    effect: "external",
    recovery: "keyed",
    execute: ({ path }, call) => {
      console.log(`  analyses ${path}`);
      service(call.idempotencyKey, path);
      const result: AnalysisResult = {
        filePath: path,
        summary: "Found 3 issues.",
        metrics: { complexity: 4.2, coverage: 0.85 },
      };
      call.session.dispatch({ type: "FileAnalysed", result });
      return "Analysis complete.";
    },
  });
}
