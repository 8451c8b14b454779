// The mails of the dashboard: short texts with one link of ours, in the language of the person who gets them.

import { withoutControls } from '../core/text/direction.ts'
import type { CreatedInvitation } from '../people/team.ts'
import type { AreaApp } from './app.ts'
import { APP_PATH } from './frame/request.ts'
import { isDashboardLanguage, type Texts, textsFor } from './frame/texts.ts'

type Needs = Pick<AreaApp, 'mailer' | 'publicUrl'>

/** The address of our page for the token of an invitation or a reset. It is not made from the request. */
export function linkOf(
  { publicUrl }: Pick<AreaApp, 'publicUrl'>,
  page: 'join' | 'reset',
  token: string,
): string {
  return `${publicUrl()}${APP_PATH}/${page}/${token}`
}

/** Whether the mail server has accepted the mail. False: show the link, so that the person who invites can send it. */
export async function mailInvitation(
  app: Needs,
  { email, token, language }: Pick<CreatedInvitation, 'email' | 'token' | 'language'>,
  { merchantName, texts }: { merchantName: string; texts: Texts },
): Promise<boolean> {
  if (!app.mailer) return false
  const { t } = textsOfReceiver(language, texts)
  const merchant = withoutControls(merchantName)
  const text = t('mailInviteText', { merchant, link: linkOf(app, 'join', token) })
  return app.mailer.sendMail({ to: email, subject: t('mailInviteSubject', { merchant }), text })
}

export async function mailReset(
  app: Needs,
  { email, token, language }: { email: string; token: string; language: string | null },
  texts: Texts,
): Promise<boolean> {
  if (!app.mailer) return false
  const { t } = textsOfReceiver(language, texts)
  const text = t('mailResetText', { link: linkOf(app, 'reset', token) })
  return app.mailer.sendMail({ to: email, subject: t('mailResetSubject'), text })
}

/** Whether the mail server has accepted the mail. In the language of the payer's pages. */
export async function mailReceipt(
  { mailer }: Pick<AreaApp, 'mailer'>,
  receipt: { email: string; link: string; language: string | null; merchantName: string },
  texts: Texts,
): Promise<boolean> {
  if (!mailer) return false
  const { t } = textsOfReceiver(receipt.language, texts)
  const merchant = withoutControls(receipt.merchantName)
  const text = t('mailReceiptText', { merchant, link: receipt.link })
  return mailer.sendMail({ to: receipt.email, subject: t('mailReceiptSubject', { merchant }), text })
}

/** In the language of the account; otherwise in that of the page from which the mail is sent. */
export function textsOfReceiver(language: string | null, texts: Texts): Texts {
  return isDashboardLanguage(language) ? textsFor(language, texts.zone) : texts
}
