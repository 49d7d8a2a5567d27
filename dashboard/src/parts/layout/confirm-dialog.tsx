import type { ReactNode } from "react";
import { Button, type ButtonKind } from "../controls/button.tsx";
import { Dialog } from "../controls/dialog.tsx";
import { RecordedAs } from "../text/recorded-as.tsx";
import { ProblemNotice } from "./notice.tsx";

type ConfirmDialogProps = {
  readonly title: ReactNode;
  readonly children: ReactNode;
  /** The word on the button that does it. */
  readonly verb: string;
  readonly kind?: ButtonKind;
  readonly isReady?: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
};

/** Asks before something is done, and says who it will be recorded as. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactNode {
  const { title, children, verb, kind = "primary", isReady = true, isBusy, error, onClose } = props;
  const confirm = (): void => {
    if (isReady && !isBusy) props.onConfirm();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onConfirm={confirm}
      footer={
        <>
          <RecordedAs />
          <Button onClick={onClose}>Back</Button>
          <Button kind={kind} disabled={!isReady || isBusy} onClick={confirm}>
            {verb}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {children}
        {error !== null && <ProblemNotice error={error} what="Nothing was changed." />}
      </div>
    </Dialog>
  );
}
