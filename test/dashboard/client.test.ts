import { expect, test } from "vitest";
import { createClient } from "../../dashboard/src/api/client.ts";
import { PawlProblem } from "../../dashboard/src/api/problem.ts";

/** A client, and the requests that it makes; each gets the same answer. */
function clientOf(answer: () => Response) {
  const requests: { readonly url: string; readonly method: string; readonly body: unknown }[] = [];
  const client = createClient({
    baseUrl: "http://127.0.0.1",
    fetch: (url, init) => {
      const body = typeof init?.body === "string" ? (JSON.parse(init.body) as unknown) : null;
      requests.push({ url: typeof url === "string" ? url : "", method: init?.method ?? "", body });
      return Promise.resolve(answer());
    },
  });
  return { client, requests };
}

const json = (document: unknown) => () => Response.json(document);

test("an id is one segment of the path, and lists are repeated in the query", async () => {
  const { client, requests } = clientOf(json({}));
  await client.getRun({ runId: "q-1/research#2.1" });
  await client.listRuns({ status: ["failed", "waiting"], limit: 50, q: undefined });
  await client.approveWait({ waitId: "q-1~2" }, { argumentsHash: "3f" });
  expect(requests).toEqual([
    { url: "http://127.0.0.1/v1/runs/q-1%2Fresearch%232.1", method: "GET", body: null },
    { url: "http://127.0.0.1/v1/runs?status=failed&status=waiting&limit=50", method: "GET", body: null },
    { url: "http://127.0.0.1/v1/waits/q-1~2/approve", method: "POST", body: { argumentsHash: "3f" } },
  ]);
});

test("a problem keeps its code, what to do, and the request", async () => {
  const document = { code: "already_settled", detail: "bo approved it.", instance: "/v1/requests/r-1" };
  const { client } = clientOf(() => Response.json(document, { status: 409 }));
  const error = await client.denyWait({ waitId: "q-1~2" }, { why: "no" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PawlProblem);
  expect(error).toMatchObject({
    status: 409,
    code: "already_settled",
    detail: "bo approved it.",
    requestId: "r-1",
  });
});

test("a proxy's page is a problem with words of its own", async () => {
  const { client } = clientOf(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));
  await expect(client.getMe()).rejects.toMatchObject({ status: 502, code: "unexpected_answer" });
});
