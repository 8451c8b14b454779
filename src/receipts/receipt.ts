/** What is needed to send the receipt of a payment to its payer. */
export interface Receipt {
  /** The page of the receipt. */
  link: string
  /** Null: the payer gave none. */
  email: string | null
  /** The language of the payer's pages; null if the merchant has chosen none. */
  language: string | null
  /** The same request was made before: nothing is to be sent. */
  isReplayed: boolean
}
