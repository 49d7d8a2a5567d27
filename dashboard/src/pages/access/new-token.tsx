import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Answer } from "../../api/client.ts";
import type { Me } from "../../api/documents.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { SelectField, TextField } from "../../parts/controls/field.tsx";
import { ConfirmDialog } from "../../parts/layout/confirm-dialog.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { scopeWords } from "../../words/scope-words.ts";
import { parseScope } from "./scope-text.ts";

const ROLES: { readonly [R in Me["role"]]: string } = {
  viewer: "viewer: reads",
  operator: "operator: reads, and acts on runs",
  admin: "admin: also makes tokens and reads the audit log",
};

const DAY_MS = 86_400_000;
const EXPIRIES = {
  "1": "in a day",
  "30": "in 30 days",
  "90": "in 90 days",
  "365": "in a year",
  never: "never",
};
type Expiry = keyof typeof EXPIRIES;

/** Makes a token, and then shows its secret: once, as only its hash is stored. */
export function NewTokenDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Me["role"]>("viewer");
  const [pipelines, setPipelines] = useState("");
  const [labels, setLabels] = useState("");
  const [expiry, setExpiry] = useState<Expiry>("90");
  const { scope, problem } = parseScope(pipelines, labels);
  const isLimited = scope.pipelines !== null || scope.labels !== null;
  const make = useMutation({
    mutationFn: () =>
      client.createToken(
        {},
        {
          name: name.trim(),
          role,
          // Without a scope it has that of the person who makes it.
          ...(isLimited ? { scope } : {}),
          ...(expiry === "never" ? {} : { expiresInMs: Number(expiry) * DAY_MS }),
        },
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  if (make.data !== undefined) return <SecretDialog made={make.data} onClose={onClose} />;
  return (
    <ConfirmDialog
      title="New token"
      verb="Make it"
      isReady={name.trim() !== "" && problem === null}
      isBusy={make.isPending}
      error={make.error}
      onConfirm={() => make.mutate()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What its holder does is recorded under this name."
        autoFocus
        autoComplete="off"
        maxLength={200}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <SelectField label="Role" options={ROLES} value={role} onChange={setRole} />
      <TextField
        label="Pipelines"
        placeholder="report, triage"
        hint="Only runs of these are seen. Nothing here is all that you see."
        autoComplete="off"
        value={pipelines}
        onChange={({ target }) => setPipelines(target.value)}
      />
      <TextField
        label="Labels"
        placeholder="tenant=acme"
        hint="Only runs with all of these in their metadata are seen."
        autoComplete="off"
        value={labels}
        problem={problem}
        onChange={({ target }) => setLabels(target.value)}
      />
      <SelectField label="Expires" options={EXPIRIES} value={expiry} onChange={setExpiry} />
    </ConfirmDialog>
  );
}

type SecretDialogProps = { readonly made: Answer<"createToken">; readonly onClose: () => void };

function SecretDialog({ made: { token, secret }, onClose }: SecretDialogProps): ReactNode {
  return (
    <Dialog
      title={
        <>
          The token <VisibleLine text={token.name} />
        </>
      }
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Notice kind="warning" title="Copy it now: it is not shown again.">
          Only its hash is stored. {token.role}, {scopeWords(token.scope)}.
        </Notice>
        <div className="flex items-center gap-2 rounded-md border border-line bg-sunken px-2.5 py-1.5">
          <code className="min-w-0 flex-1 select-all">{secret}</code>
          <CopyButton text={secret} what="token" />
        </div>
        <p className="text-ink-2">
          Programs send it as <code>Authorization: Bearer …</code>; people sign in with it. It is never part
          of an address.
        </p>
      </div>
    </Dialog>
  );
}
