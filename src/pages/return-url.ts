/**
 * Appends our result to the merchant's URL. Its query and fragment stay unchanged, and its own parameters are not
 * replaced. The status is a hint for the page, never proof: the merchant must verify.
 */
export function buildReturnUrl(redirectUrl: string, reference: string, status: string): string {
  const target = toAscii(redirectUrl)
  const hash = target.indexOf('#')
  const address = hash === -1 ? target : target.slice(0, hash)
  const fragment = hash === -1 ? '' : target.slice(hash)
  const separator = address.includes('?') ? (/[?&]$/.test(address) ? '' : '&') : '?'
  const own = new URL(target).searchParams
  const result = Object.entries({ reference, status })
    .map(([name, value]) => `${own.has(name) ? `payment_${name}` : name}=${encodeURIComponent(value)}`)
    .join('&')
  return `${address}${separator}${result}${fragment}`
}

/** Encodes a URL for a header as a browser does. */
function toAscii(address: string): string {
  return /^[\x21-\x7e]*$/.test(address) ? address : new URL(address).href
}
