import { AnswerHold } from "./answer-hold.ts";
import { type MailService, openMailService } from "./mail-service.ts";
import { type NotificationService, openNotificationService } from "./notification-service.ts";
import { openUploadService, type UploadService } from "./upload-service.ts";
import { openWebSite, type WebSite } from "./web-site.ts";

/** The addresses of the services. */
export type OutsideAddresses = {
  readonly uploads: string;
  readonly smtpPort: number;
  readonly sentMail: string;
  readonly notifications: string;
};

/**
 * The outside world of the job: real servers in a process that is never killed. Each records what happened to it, and the
 * demo trusts only these records.
 */
export type DemoServices = {
  readonly hold: AnswerHold;
  readonly site: WebSite;
  readonly uploads: UploadService;
  readonly mail: MailService;
  readonly notifications: NotificationService;
  readonly addresses: OutsideAddresses;
  close(): Promise<void>;
};

export async function openOutside(): Promise<DemoServices> {
  const hold = new AnswerHold();
  const [site, uploads, mail, notifications] = await Promise.all([
    openWebSite(hold),
    openUploadService(hold),
    openMailService(hold),
    openNotificationService(hold),
  ]);
  return {
    hold,
    site,
    uploads,
    mail,
    notifications,
    addresses: {
      uploads: uploads.url,
      smtpPort: mail.smtpPort,
      sentMail: mail.sentUrl,
      notifications: notifications.url,
    },
    close: async () => {
      hold.release();
      await Promise.all([site, uploads, mail, notifications].map((service) => service.close()));
    },
  };
}
