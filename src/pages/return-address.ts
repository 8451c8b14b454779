/**
 * The merchant's address with our result appended; its own query and fragment stay to the letter. The status is a hint
 * for the page that opens, never proof: the merchant verifies.
 */
export function returnAddress(redirectUrl: string, reference: string, status: string): string {
  const hash = redirectUrl.indexOf('#')
  const address = hash === -1 ? redirectUrl : redirectUrl.slice(0, hash)
  const fragment = hash === -1 ? '' : redirectUrl.slice(hash)
  const separator = address.includes('?') ? (/[?&]$/.test(address) ? '' : '&') : '?'
  const result = `reference=${encodeURIComponent(reference)}&status=${encodeURIComponent(status)}`
  return `${address}${separator}${result}${fragment}`
}
