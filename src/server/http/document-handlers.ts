import type { Json } from "../../core/json.ts";
import { once } from "../../core/once.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import { openApiText } from "../own-files.ts";

const openApi = once((): Json | null => {
  const text = openApiText();
  return text === null ? null : (JSON.parse(text) as Json);
});

/** What the server says of itself to anyone: that it answers, and what it can be asked. */
export const documentHandlers: Handlers<"getHealth" | "getOpenApi"> = {
  getHealth: async () => ({ status: 200, body: { status: "ok" } }),
  getOpenApi: async () => {
    const document = openApi();
    if (document === null)
      throw new HttpProblem(
        404,
        "no_document",
        "The OpenAPI document is not beside this program: read docs/openapi.json of the package.",
      );
    return { status: 200, body: document };
  },
};
