"""What happens around the learning of rules or trees: validation, stopping, callbacks, resuming.

Nothing here knows how a rule is learned; the loop itself is `labelboost.boosting.boost`.
"""
