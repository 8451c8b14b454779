// Addresses of others that a payer's browser is led to.

// The URL parser takes signs in a host that no name has, such as a semicolon. An origin stands in the content security
// policy of our pages, where such a sign would begin a directive.
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/

/**
 * An http or https address, or undefined. Checked on the raw text as well, because the URL parser forgives what a
 * browser may read in another way.
 */
export function readWebAddress(text: string): URL | undefined {
  if (/[\s\\]/.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const hasUser = url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)
  return hasUser || !HOST.test(url.hostname) ? undefined : url
}

/** The developer's own machine, which has no certificate. */
export function isLocalhost(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
