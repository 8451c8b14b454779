// The mails about requests for refunds: to those who may approve one, and to the person who asked when it was decided. A crash right
// after the request or the decision loses its mail; home shows both all the same.

import { withoutControls } from '../core/text/direction.ts'
import { teamOf } from '../people/team.ts'
import type { RefundRequest } from '../refund-requests/request.ts'
import type { ScreenRequest } from './frame/screen.ts'
import { textsOfReceiver } from './mails.ts'
import { REQUESTS_PATH } from './screens/refunds.ts'

type Team = ReturnType<typeof teamOf>
type Member = Awaited<ReturnType<Team['members']>>[number]

// A larger team looks at the queue.
const MOST_APPROVERS = 20

/** After the response: asking does not wait for the mail server. */
export function mailRequest(request: ScreenRequest, asked: RefundRequest): void {
  inBackground(request, async (team) => {
    const approving = team.roles.filter(({ scopes }) => scopes.includes('refunds:write'))
    const approvers = (await team.members()).filter(
      ({ userId, role }) => userId !== asked.requestedBy && approving.some((one) => one.role === role),
    )
    await mail(request, asked, approvers.slice(0, MOST_APPROVERS), 'mailRequest')
  })
}

/** Not to a person who has withdrawn their own request. */
export function mailDecision(request: ScreenRequest, decided: RefundRequest): void {
  if (decided.status !== 'approved' && decided.status !== 'rejected') return
  inBackground(request, async (team) => {
    const asker = (await team.members()).filter(({ userId }) => userId === decided.requestedBy)
    await mail(request, decided, asker, 'mailDecided')
  })
}

function inBackground({ app, principal }: ScreenRequest, work: (team: Team) => Promise<void>): void {
  if (app.mailer) app.background.run(() => work(teamOf(app, principal)))
}

async function mail(
  { app, person, texts }: ScreenRequest,
  { uuid, amount, currency, paymentReference, status, decisionNote }: RefundRequest,
  receivers: readonly Member[],
  kind: 'mailRequest' | 'mailDecided',
): Promise<void> {
  const link = `${app.publicUrl()}${REQUESTS_PATH}/${uuid}`
  for (const { email, language, isDisabled } of receivers) {
    if (isDisabled) continue
    const own = textsOfReceiver(language, texts)
    const values = {
      ...{ name: withoutControls(person.name), reference: withoutControls(paymentReference) },
      ...{ amount: own.amount(amount, currency), status: own.word('status', status) },
    }
    const note = kind === 'mailDecided' && decisionNote ? `${withoutControls(decisionNote)}\n\n` : ''
    const text = `${own.t(`${kind}Text`, values)}\n\n${note}${link}\n`
    await app.mailer?.sendMail({ to: email, subject: own.t(`${kind}Subject`, values), text })
  }
}
