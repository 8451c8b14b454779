// Invites an operator. An address has one open invitation and one account, so that no lost link stays valid beside a new
// one, and no link is made that its person cannot use.

import { ApiError } from '../../core/errors.ts'
import type { PeopleApp } from '../app.ts'
import { normalizeEmail } from '../sign-in.ts'
import { type CreatedInvitation, createInvitation } from '../team.ts'
import { lockOperatorInvitation } from '../team-queries.ts'
import { findUserByEmail } from '../user-queries.ts'

type Refusal = 'already_invited' | 'already_operator' | 'already_member'

/** `invitedBy` is null for the operator token. */
export function inviteOperator(
  app: Pick<PeopleApp, 'clock' | 'random' | 'peopleDb'>,
  { email: written, invitedBy }: { email: string; invitedBy: string | null },
): Promise<CreatedInvitation> {
  const email = normalizeEmail(written)
  return app.peopleDb.transaction(async (tx) => {
    const open = await lockOperatorInvitation(tx, email, app.clock.now())
    const user = await findUserByEmail(tx, email)
    if (user?.kind === 'operator')
      throw refusal('already_operator', `${email} is an operator already; a disabled account can be enabled.`)
    if (user)
      throw refusal(
        'already_member',
        `${email} has an account at a merchant. An operator needs another address.`,
      )
    if (open)
      throw refusal(
        'already_invited',
        `${email} is invited already, until ${open.expiresAt.toISOString()}. If the link was lost, revoke the invitation ${open.id} first.`,
      )
    return createInvitation(app, tx, { email, merchantId: null, role: 'operator', invitedBy })
  })
}

function refusal(code: Refusal, message: string): ApiError {
  return new ApiError('invalid_state', { message, details: [{ field: 'email', code, message }] })
}
