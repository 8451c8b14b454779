// The e-mail address of a payer who was not asked for one. A customer is identified by an e-mail address, so such a payer
// gets one that cannot receive mail: the domain .invalid is reserved for that (RFC 2606).

const DOMAIN = '@no-email.invalid'

/** `name` is unique and has only letters, digits and hyphens. */
export function placeholderEmail(name: string): string {
  return `${name.toLowerCase()}${DOMAIN}`
}

export function isPlaceholderEmail(email: string): boolean {
  return email.endsWith(DOMAIN)
}
