/**
 * The merchant's address with our result appended; its own query and fragment stay to the letter, and a name that it uses
 * itself is left to it. The status is a hint for the page that opens, never proof: the merchant verifies.
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

/** As a header can carry it: an address with other letters is written as a browser would send it. */
function toAscii(address: string): string {
  return /^[\x21-\x7e]*$/.test(address) ? address : new URL(address).href
}
