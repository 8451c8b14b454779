// The names of gateway accounts. An instance or a merchant may have several accounts at one gateway, such as one per
// country: `paystack` and `paystack_ke`. The part after the gateway's name is the label.

/** The gateway of staging. Its one account is that of the instance. */
export const SANDBOX = 'sandbox'

const LABEL = /^[a-z0-9]{1,12}$/

export interface AccountName {
  /** The gateway's own name. */
  gateway: string
  /** Null: the account without a label. */
  label: string | null
}

/** The longest gateway name that fits decides; undefined if none does. */
export function parseAccountName(gateways: Iterable<string>, name: string): AccountName | undefined {
  const fitting = [...gateways]
    .map((gateway) => ({ gateway, label: labelOf(gateway, name) }))
    .filter(({ label }) => label !== undefined)
  const [longest] = fitting.toSorted((one, other) => other.gateway.length - one.gateway.length)
  return longest && { gateway: longest.gateway, label: longest.label ?? null }
}

/** Undefined if the name is no account of the gateway. */
function labelOf(gateway: string, name: string): string | null | undefined {
  if (name === gateway) return null
  const label = name.startsWith(`${gateway}_`) ? name.slice(gateway.length + 1) : ''
  return isLabel(label) ? label : undefined
}

export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/** Whether an entry of a route or rule means this account: the name of the gateway means all its accounts. */
export function meansAccount(entry: string, account: { name: string; gateway: string }): boolean {
  return entry === account.name || entry === account.gateway
}

export function accountTitle(title: string, label: string | null): string {
  return label === null ? title : `${title} (${label.toUpperCase()})`
}
