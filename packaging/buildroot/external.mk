include $(sort $(wildcard $(BR2_EXTERNAL_TIMERSHIELD_PATH)/package/*/*.mk))
