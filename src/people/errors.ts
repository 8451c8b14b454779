// What the slice refuses. These errors are for pages, not for the merchants' API, so they are not in its table of codes.

const REFUSALS = {
  sign_in_failed: [401, 'The e-mail address or the password is not right.'],
  second_factor_failed: [401, 'The code is not right, or it was used before.'],
  passkey_refused: [401, 'The passkey was not accepted.'],
  identity_refused: [401, 'The identity provider did not confirm who you are. Try again.'],
  identity_unavailable: [503, 'The identity provider does not answer. Try again later.'],
  identity_without_account: [403, 'There is no account for you here. Ask an owner for an invitation.'],
  session_ended: [401, 'The session has ended. Sign in again.'],
  too_many_attempts: [429, 'Too many attempts. Wait, and try again.'],
  authentication_required: [403, 'Confirm that it is you, and try again.'],
  not_allowed: [403, 'Your role does not allow this.'],
  member_not_found: [404, 'There is no such person in the team.'],
  invitation_not_found: [404, 'There is no such open invitation.'],
  link_not_valid: [410, 'This link was used, revoked or has expired.'],
  invitation_used: [410, 'This invitation was accepted already. Sign in with its account.'],
  invitation_revoked: [410, 'This invitation was revoked. Ask for a new one.'],
  invitation_expired: [410, 'This invitation has expired. Ask for a new one.'],
  form_used: [409, 'This form was submitted before, with other values, and those were used.'],
  already_invited: [
    409,
    'This form was submitted before. If the link was lost, revoke the invitation and invite again.',
  ],
  already_member: [409, 'This person is in the team already.'],
  account_exists: [409, 'There is an account with this e-mail address. Sign in, and open the link again.'],
  wrong_account: [409, 'This invitation is for another e-mail address.'],
  last_owner: [409, 'A merchant needs an owner. Make another person an owner first.'],
  name_not_valid: [422, 'The name must have 1 to 100 characters, and one of them must be visible.'],
  email_not_valid: [422, 'This is not an e-mail address.'],
  password_length: [422, 'The password must have 12 to 128 characters.'],
  password_common: [422, 'This password is too easy to guess.'],
  totp_not_started: [409, 'Begin again: there is no secret to confirm.'],
  too_many_passkeys: [409, 'An account has at most 20 passkeys. Remove one first.'],
} as const satisfies Record<string, readonly [http: number, message: string]>

export type PeopleErrorCode = keyof typeof REFUSALS

/** A request of a person that we refuse. */
export class PeopleError extends Error {
  readonly code: PeopleErrorCode
  readonly http: number
  readonly retryAfterSeconds: number | undefined

  constructor(code: PeopleErrorCode, retryAfterSeconds?: number) {
    const [http, message] = REFUSALS[code]
    super(message)
    this.name = 'PeopleError'
    this.code = code
    this.http = http
    this.retryAfterSeconds = retryAfterSeconds
  }
}
