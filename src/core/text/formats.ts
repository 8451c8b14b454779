// Which texts are e-mail addresses and names of people. Characters that are invisible, or that turn the direction of
// writing, would make two identities that look the same.

const EMAIL_MAX_LENGTH = 254

// One @, a name without quoting, and a domain of at least two labels. Only sending mail shows whether the mailbox
// exists.
const EMAIL_NAME = /^[^\s@"(),:;<>[\]\\.]+(?:\.[^\s@"(),:;<>[\]\\.]+)*$/
const EMAIL_DOMAIN =
  /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?\.)+\p{L}[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}]$/u

// Control, format, private and unassigned characters, and those that Unicode shows as nothing.
const HIDDEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

export function isEmail(text: string): boolean {
  const at = text.indexOf('@')
  if (at < 1 || [...text].length > EMAIL_MAX_LENGTH || HIDDEN.test(text)) return false
  return EMAIL_NAME.test(text.slice(0, at)) && EMAIL_DOMAIN.test(text.slice(at + 1))
}

const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/** At least one visible character: neither white space nor a character that Unicode shows as nothing. */
export function hasVisibleText(text: string): boolean {
  return VISIBLE.test(text)
}

// They would reverse the text beside a name.
const DIRECTION_CHANGE = /[\u202a-\u202e\u2066-\u2069]/

export const LONGEST_NAME = 100

/** Of X-Request-Id. */
export const LONGEST_REQUEST_ID = 128

export function isPersonName(text: string): boolean {
  return [...text].length <= LONGEST_NAME && hasVisibleText(text) && !DIRECTION_CHANGE.test(text)
}
