import { createHash } from "node:crypto";
import { type Attack, cancels, said } from "./attack.ts";
import { ACME, type Attacked, CONTENT, OTHER, OWN, post, SHOWN } from "./attacked-server.ts";

const me = (server: Attacked, headers: Record<string, string>) => said(server.request("/v1/me", { headers }));

/** Approves the call that takes two people. */
async function approves(server: Attacked, headers: Record<string, string>): Promise<void> {
  const [wait] = await server.store.listOpenWaits();
  const init = post({ argumentsHash: SHOWN }, headers);
  await server.request(`/v1/waits/${encodeURIComponent(wait?.waitId ?? "")}/approve`, init);
}

/** A token that was made with these rights. */
async function makes(
  server: Attacked,
  headers: Record<string, string>,
  more: object = {},
): Promise<Response> {
  return server.request("/v1/tokens", post({ name: "made", role: "admin", ...more }, headers));
}

const HIDDEN = { hideContent: "viewer" } as const;

/** What a person may do: with their role, in their scope, with what they have signed in with. */
export const ACCESS_ATTACKS: readonly Attack[] = [
  {
    name: "nobody reads",
    attempt: (server) => said(server.request("/v1/server")),
    refusal: "401 sign_in_first",
    without: ["signedIn"],
    gain: "200",
  },
  {
    name: "a viewer acts",
    attempt: async (server) => cancels(server, await server.bearer("viewer")),
    refusal: "403 role_too_low",
    without: ["role"],
    gain: "200, cancelled",
  },
  {
    name: "an operator reads the tokens",
    attempt: async (server) =>
      said(server.request("/v1/tokens", { headers: await server.bearer("operator") })),
    refusal: "403 role_too_low",
    without: ["role"],
    gain: "200",
  },
  {
    name: "an operator makes an admin",
    attempt: async (server) => said(makes(server, await server.bearer("operator"))),
    refusal: "403 role_too_low",
    without: ["role"],
    gain: "201",
  },
  {
    name: "an admin acts on a server that is read-only",
    options: { readOnly: true },
    attempt: async (server) => cancels(server, await server.bearer("admin")),
    refusal: "403 role_too_low",
    without: ["readOnly"],
    gain: "200, cancelled",
  },
  {
    name: "an operator of another tenant acts",
    attempt: async (server) => cancels(server, await server.bearer("operator", { scope: OTHER })),
    refusal: "404 run_not_found",
    without: ["scope"],
    gain: "200, cancelled",
  },
  {
    name: "an admin of one tenant makes an admin of all",
    attempt: async (server) => {
      const headers = await server.bearer("admin", { scope: ACME });
      return said(makes(server, headers, { scope: { pipelines: null, labels: null } }));
    },
    refusal: "403 scope_too_wide",
    without: ["tokenScope"],
    gain: "201",
  },
  {
    name: "an admin of one tenant revokes a token of another",
    attempt: async (server) => {
      const { id } = await server.grant("viewer", { scope: OTHER });
      const headers = await server.bearer("admin", { scope: ACME });
      return said(server.request(`/v1/tokens/${id}`, { method: "DELETE", headers }));
    },
    refusal: "404 token_not_found",
    without: ["revokedScope"],
    gain: "204",
  },
  {
    name: "an admin of one tenant reads what people of all tenants did",
    attempt: async (server) =>
      said(server.request("/v1/audit", { headers: await server.bearer("admin", { scope: ACME }) })),
    refusal: "403 scope_too_small",
    without: ["auditScope"],
    gain: "200",
  },
  {
    name: "a cookie is made up for a token whose id is known",
    attempt: async (server) => {
      const { forged } = await server.foreignCookie((await server.grant("admin")).id);
      return me(server, { ...OWN, ...forged });
    },
    refusal: "401 sign_in_first",
    without: ["signature"],
    gain: "200",
  },
  {
    name: "a cookie of a server on another port of this machine is taken for one of this server",
    attempt: async (server) => {
      const { signedElsewhere } = await server.foreignCookie((await server.grant("admin")).id);
      return me(server, { ...OWN, ...signedElsewhere });
    },
    refusal: "401 sign_in_first",
    without: ["storeKey"],
    gain: "200",
  },
  {
    name: "a copy of a cookie is used after its person has signed out",
    attempt: async (server) => {
      const headers = { ...OWN, ...(await server.cookie("viewer")) };
      await server.request("/v1/session", { method: "DELETE", headers });
      return me(server, headers);
    },
    refusal: "401 sign_in_first",
    without: ["signOut"],
    gain: "200",
  },
  {
    name: "a code is used again",
    attempt: async (server) => {
      const code = await server.handler.createLoginCode({ name: "ana" });
      await server.request("/v1/session", post({ code }, OWN));
      return said(server.request("/v1/session", post({ code }, OWN)));
    },
    refusal: "401 login_refused",
    without: ["codeOnce"],
    gain: "200",
  },
  {
    name: "a code is used after its five minutes",
    attempt: async (server) => {
      const { secret: code } = await server.grant("admin", { kind: "code", expiresAt: Date.now() - 1 });
      return said(server.request("/v1/session", post({ code }, OWN)));
    },
    refusal: "401 login_refused",
    without: ["codeAge"],
    gain: "200",
  },
  {
    name: "a token that an admin has made for later outlives the revocation of their own",
    attempt: async (server) => {
      const { secret, id } = await server.grant("admin", { name: "ana" });
      const made = await makes(server, { authorization: `Bearer ${secret}` });
      const { secret: later } = (await made.json()) as { readonly secret: string };
      const headers = await server.bearer("admin");
      await server.request(`/v1/tokens/${id}`, { method: "DELETE", headers });
      return me(server, { authorization: `Bearer ${later}` });
    },
    refusal: "401 token_refused",
    without: ["madeFrom"],
    gain: "200",
  },
  {
    name: "one person approves with a token, and again with a code",
    attempt: async (server) => {
      const token = await server.bearer("operator", { name: "ana" });
      const cookie = await server.cookie("operator", { name: "ana", kind: "code" });
      await approves(server, token);
      await approves(server, { ...OWN, ...cookie });
      const [wait] = await server.store.listWaits("order-1");
      return `${wait?.status} by ${wait?.people.map(({ name }) => name).join(" and ")}`;
    },
    refusal: "open by ana",
    without: ["person"],
    gain: "answered by ana and ana",
  },
  {
    name: "wrong tokens of a stranger keep the owner of a right one out",
    attempt: async (server) => {
      for (let i = 0; i < 11; i += 1) await me(server, { authorization: `Bearer wrong-${i}` });
      return me(server, await server.bearer("viewer"));
    },
    refusal: "200",
    without: ["lockOut"],
    gain: "429 too_many_failed_logins",
  },
  {
    name: "wrong codes of a stranger fill the audit log",
    attempt: async (server) => {
      for (let i = 0; i < 20; i += 1) await server.request("/v1/session", post({ code: `wrong ${i}` }, OWN));
      return `${(await server.store.listAudit()).length} entries`;
    },
    refusal: "10 entries",
    without: ["failures"],
    gain: "20 entries",
  },
  {
    name: "a viewer who sees no contents reads them",
    options: HIDDEN,
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const text = await (await server.request("/v1/runs/order-1", { headers })).text();
      return text.includes(CONTENT) ? "the content" : "nothing";
    },
    refusal: "nothing",
    without: ["hiddenDocument"],
    gain: "the content",
  },
  {
    name: "a viewer who sees no contents tries what a hash is of",
    options: HIDDEN,
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const answer = await server.request("/v1/runs/order-1", { headers });
      const { inputHash } = (await answer.json()) as { readonly inputHash: string };
      // As the input of the run is hashed.
      const guess = createHash("sha256").update("ratchets").digest("hex");
      return inputHash === guess ? "the guess is right" : "nothing";
    },
    refusal: "nothing",
    without: ["hiddenHash"],
    gain: "the guess is right",
  },
  {
    name: "a viewer who sees no contents downloads them",
    options: HIDDEN,
    attempt: async (server) =>
      said(server.request("/v1/runs/order-1/artifacts/a.txt", { headers: await server.bearer("viewer") })),
    refusal: "403 content_hidden",
    without: ["hiddenBytes"],
    gain: "404 artifact_not_found",
  },
  {
    name: "a viewer who sees no contents is shown those that the browser has kept for an operator",
    options: HIDDEN,
    attempt: async (server) => {
      const [operator, viewer] = [await server.bearer("operator"), await server.bearer("viewer")];
      const { headers } = await server.request("/v1/runs/order-1", { headers: operator });
      const known = { "if-none-match": headers.get("etag") ?? "" };
      return said(server.request("/v1/runs/order-1", { headers: { ...viewer, ...known } }));
    },
    refusal: "200",
    without: ["hiddenVersion"],
    gain: "304",
  },
  {
    name: "a viewer who sees no contents finds out words of them by searching",
    options: HIDDEN,
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const found = await server.request(`/v1/runs?q=${encodeURIComponent("made of cheese")}`, { headers });
      const { items } = (await found.json()) as { readonly items: readonly unknown[] };
      return `${items.length} runs`;
    },
    refusal: "0 runs",
    without: ["hiddenSearch"],
    gain: "1 runs",
  },
];
