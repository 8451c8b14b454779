// Addresses of others that a payer's browser is led to.

/**
 * An http or https address, or undefined. Checked on the raw text as well, because the URL parser forgives what a
 * browser may read in another way.
 */
export function readWebAddress(text: string): URL | undefined {
  if (/[\s\\]/.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const hasUser = url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)
  return hasUser ? undefined : url
}

/** The developer's own machine, which has no certificate. */
export function isOwnMachine(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
