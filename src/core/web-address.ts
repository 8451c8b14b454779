// Checks external URLs to which we redirect a payer's browser.

// The URL parser accepts characters in a host that no host name has, such as a semicolon. Our pages put origins into
// their content security policy, where a semicolon would start another directive.
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/

/**
 * Parses an http or https URL, or returns undefined. The raw text is checked as well, because the URL parser is lenient
 * where browsers may parse differently.
 */
export function readWebAddress(text: string): URL | undefined {
  if (/[\s\\]/.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const hasUser = url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)
  return hasUser || !HOST.test(url.hostname) ? undefined : url
}

/** The developer's own machine. Test mode accepts it without https. */
export function isLocalhost(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
